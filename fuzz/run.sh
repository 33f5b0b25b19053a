#!/bin/sh
# Runs every fuzz target for SECONDS, each on a copy of its seed corpus, and fails at the first
# target that finds a bug. Results are kept under build/fuzz/runs: the output of libFuzzer in
# TARGET.log, new inputs in TARGET/, and an input that crashes as TARGET-crash-….
#   usage: fuzz/run.sh SECONDS [TARGET…]
set -eu

if [ $# -lt 1 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
  echo "usage: fuzz/run.sh SECONDS [TARGET…], with SECONDS a whole number above 0" >&2
  exit 2
fi
seconds=$1
shift
[ $# -gt 0 ] || set -- safetensors npy matrix_market qrels trace profile profile_file cache_file witness refutation store

cd "$(dirname "$0")/.."
cmake --preset fuzz >/dev/null
for target in "$@"; do
  cmake --build --preset fuzz --target "fuzz_$target"
done
for target in "$@"; do
  kept=build/fuzz/runs/$target
  mkdir -p "$kept"
  cp fuzz/corpus/"$target"/* "$kept"/
  # No input of 64 KB may need nearly as much as 512 MB: an allocation above that is a bug too.
  if build/fuzz/fuzz/fuzz_"$target" "$kept" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
    -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 -artifact_prefix="$kept-" >"$kept.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$kept.log") inputs, no bug found"
  else
    tail -n 60 "$kept.log"
    echo "$target: a bug was found; the input that shows it is $kept-…" >&2
    exit 1
  fi
done
