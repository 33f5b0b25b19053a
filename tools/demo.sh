#!/usr/bin/env bash
# Dense and sparse attention on the shipped trace, checked against the f64 reference, its profile, and a page about them.
#   tools/demo.sh PROGRAM PYTHON FOLDER
# PYTHON needs numpy, safetensors, altair and vl-convert-python. Takes about twenty seconds.
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

# Threads that spin would wait for the time slices of whatever else runs here.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
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
"$python" tools/demo_page.py "$trace" "$folder/dense.safetensors" "$folder/dense.json" "${sparse[@]}" \
  --profile "$folder/profile.json" --page "$folder/index.html"
echo "$folder/index.html"
