#!/usr/bin/env bash
# Runs dense and sparse attention on the shipped trace and checks both against the f64 reference,
# profiles the trace, realises and verifies patterns, decides patterns, runs a small sweep, and
# makes a page about all of it. Prints the findings in a few sentences, then the page's path.
#   tools/demo.sh PROGRAM PYTHON FOLDER
# PYTHON needs numpy, safetensors, altair and vl-convert-python. Takes about a minute.
set -euo pipefail
if [[ $# -ne 3 ]]; then
  echo "usage: tools/demo.sh PROGRAM PYTHON FOLDER" >&2
  exit 2
fi
program=$1 python=$2 folder=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
trace=data/smollm2-kjv-8k-small.safetensors

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
[[ $python == */* ]] && python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
cd "$root"

attend() {
  "$program" attend "$trace" "${@:2}" --check --out "$folder/$1.safetensors" --json > "$folder/$1.json"
}
attend dense --dense
sparse=()
for eps in 0.05 0.01; do
  attend "mass-$eps" --budget "mass:$eps"
  sparse+=(--sparse "$folder/mass-$eps.safetensors" "$folder/mass-$eps.json")
done
"$program" profile "$trace" --eps 0.01,0.05 --out "$folder/profile.json" > "$folder/profile.txt"

# Patterns, witnesses and the reports about them are files with a common name. Every command is
# recorded in commands.txt.
: > "$folder/commands.txt"
say() { echo "tamis $*" | sed "s|$folder/||g" >> "$folder/commands.txt"; }
run() { say "$@"; "$program" "$@"; }
example() {  # NAME, options of pattern, --, options of realise
  local name=$folder/$1 make=() conditions=()
  shift
  while [[ $1 != -- ]]; do make+=("$1"); shift; done
  shift
  [[ " $* " == *" --weak "* ]] && conditions=(--weak)
  run pattern "${make[@]}" --out "$name.mtx" > /dev/null
  run realise "$name.mtx" "$@" --out "$name.safetensors" --json > "$name.realise.json"
  run verify "$name.mtx" "$name.safetensors" "${conditions[@]}" --json > "$name.verify.json"
}
example permutation permutations --n 512 --k 1 -- --dim 16
example two-permutations permutations --n 1024 --k 2 --gamma 2 -- --dim 16 --steps 1000
example head trace --trace "$trace" --layer 12 --head 1 --k 4 -- --dim 12
example pairs pairs --n 60 -- --dim 4 --weak
run frontier "$folder/permutation.mtx" --dims 2,3,4,6,8,12,16,24,32,48 --steps 1000 --json > "$folder/frontier.json"

decided() {  # NAME, the pattern's file
  local name=$folder/$1
  run decide "$2" --time-limit 2 --out "$name.safetensors" --refutation "$name.refutation.json" --json > "$name.decide.json"
  # Exit status 1 means that a witness or refutation does not hold, which the page shows.
  for kind in witness:safetensors refutation:refutation.json; do
    [[ -e $name.${kind#*:} ]] || continue
    run verify "$2" "$name.${kind#*:}" --weak --json > "$name.${kind%%:*}.verify.json" || [[ $? -eq 1 ]]
  done
}
run pattern banded --n 12 --reach 0 --out "$folder/identity.mtx" > /dev/null
run pattern pairs --n 12 --out "$folder/pairs-12.mtx" > /dev/null
rm -f "$folder"/{identity,pairs-12,pattern-32,recipes}.{safetensors,refutation.json}
cp data/pattern-32.mtx data/recipes.qrels "$folder"
decided identity "$folder/identity.mtx"
decided pairs-12 "$folder/pairs-12.mtx"
decided recipes data/recipes.qrels
decided pattern-32 data/pattern-32.mtx

rm -f "$folder"/fig3.sqlite*
run sweep fig3 --set n=64,128,256,512,1024 --set k=1,2 --set gamma=1 --set eps1=0.5 --set search_to=512 --set curve_from=256 --set accepted=8 --set least=0.02 \
  --store "$folder/fig3.sqlite" --vega "$folder/fig3.vl.json" --json > "$folder/fig3.json"

"$python" tools/demo_page.py "$trace" "$folder/dense.safetensors" "$folder/dense.json" "${sparse[@]}" \
  --profile "$folder/profile.json" --realised "$folder" --examples permutation,two-permutations,head,pairs \
  --decided identity,pairs-12,recipes,pattern-32 \
  --frontier "$folder/frontier.json" --sweep "$folder/fig3.json" "$folder/fig3.vl.json" --page "$folder/index.html"
echo "$folder/index.html"
