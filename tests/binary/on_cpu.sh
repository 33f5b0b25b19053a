#!/bin/bash
# Runs the program and some of the unit tests on another CPU than this machine's, emulated by qemu.
# Usage: on_cpu.sh CPU TARGET PROGRAM TESTS DATA
# TARGET is the SIMD target that must be chosen there; DATA is the folder of the shipped data.
set -euo pipefail
cpu=$1 target=$2 program=$3 tests=$4 data=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# qemu warns about features of the CPU that it lacks; none of them is an instruction
# that tamis uses.
on_cpu() {
  qemu-x86_64 -cpu "$cpu" "$@" > "$work/log" 2>&1 || {
    grep -v '^qemu-x86_64: warning: TCG' "$work/log" | tail -n 40
    echo "failed on $cpu: $*"
    exit 1
  }
}

on_cpu "$program" info
grep -q "^target  *$target," "$work/log" || {
  cat "$work/log"
  echo "on $cpu this is not the target '$target'"
  exit 1
}

trace=$data/smollm2-kjv-8k-small.safetensors
on_cpu "$program" attend "$trace" --layer 3 --budget mass:0.05 --check --out "$work/out.safetensors"
on_cpu "$program" profile "$trace" --layer 21 --out "$work/profile.json"
on_cpu "$program" decide "$data/recipes.qrels" --dim 2 --no-solvers --refutation "$work/refutation.json" --out "$work/witness.safetensors"
on_cpu "$program" verify "$data/pattern-32.mtx" "$data/witness-32.safetensors"
on_cpu "$program" realise "$data/pattern-32.mtx" --out "$work/realised.safetensors"
on_cpu "$program" verify "$data/pattern-32.mtx" "$work/realised.safetensors"
on_cpu "$program" sweep frontier --set n=32 --store "$work/sweep.sqlite"
on_cpu "$tests" --gtest_brief=1 \
  --gtest_filter='*Kernels*:Dense*:SievePlanesRegressions*:Random*:Dtype*:-*IsExactForEveryBitPattern'
echo "on $cpu: target $target, everything ran"
