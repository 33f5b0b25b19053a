#!/bin/bash
# What leaves a shared library: the C functions of its header, under its own version; of namespace tamis what is
# public; and of what the folders hold inside nothing but what TAMIS_INSIDE marks, under a version of its own.
# Usage: exports.sh LIBRARY HEADER INSIDE
# INSIDE is an expression for the mangled beginnings of names inside that may leave.
set -euo pipefail
library=$1
header=$2
inside=$3
# name@@VERSION, without the names of the versions themselves
symbols=$(nm -D --defined-only --format=posix --with-symbol-versions "$library" | awk '$2 != "A" {print $1}')

complain() { # complain WHAT LIST: fails if the list is not empty
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2"
    exit 1
  fi
}
declared=$(grep -oE '\btamis_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u)
exported=$(grep '^tamis_' <<<"$symbols" | sed 's/@.*//' | sort -u)
complain "declared in $header but not exported" "$(comm -23 <(echo "$declared") <(echo "$exported"))"
complain "exported but not declared in $header" "$(comm -13 <(echo "$declared") <(echo "$exported"))"
complain "exported without a version" "$(grep -v @ <<<"$symbols" || true)"
complain "exported from outside namespace tamis" \
  "$(grep -Ev '^(tamis_|_ZN5tamis|_ZNK5tamis|_ZT[ISV]N5tamis)' <<<"$symbols" || true)"
# A name in a namespace of a folder begins, after tamis and lab, with a lower-case word that more follows.
named_inside='^_Z(NK?|T[ISV]N)5tamis(3lab)?(4core|7kernels|9attention|5cache|5sieve|4capi|7numbers|5stats|2io|7pattern|12verification|11realisation|4dmin|8decision|9profiling|11experiments|5sweep)[0-9]'
private=$(grep -E "$named_inside" <<<"$symbols" || true)
complain "inside, but exported" "$(grep -Ev "$inside" <<<"$private" || true)"
complain "inside, but exported as public" "$(grep -v '@@TAMIS_PRIVATE' <<<"$private" || true)"
complain "public, but exported as private" "$(grep -Ev "$named_inside" <<<"$symbols" | grep '@@TAMIS_PRIVATE' || true)"
