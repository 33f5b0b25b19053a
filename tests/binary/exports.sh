#!/bin/bash
# Checks the symbols that a shared library exports: the C functions of its header, under a version
# of their own; the public names of namespace tamis; and of the namespaces inside it, only the
# names that TAMIS_INSIDE marks, under a version of their own.
# Usage: exports.sh LIBRARY HEADER INSIDE
# INSIDE is an expression for the mangled beginnings of the inner names that may be exported.
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
# After tamis and lab, the mangled name of an entity in a folder's namespace has a lower-case word
# that is not the last.
named_inside='^_Z(NK?|T[ISV]N)5tamis(3lab)?(4core|7kernels|9attention|5cache|5sieve|4capi|7numbers|5stats|2io|7pattern|12verification|11realisation|4dmin|8decision|9profiling|11experiments|5sweep)[0-9]'
private=$(grep -E "$named_inside" <<<"$symbols" || true)
complain "inside, but exported" "$(grep -Ev "$inside" <<<"$private" || true)"
complain "inside, but exported as public" "$(grep -v '@@TAMIS_PRIVATE' <<<"$private" || true)"
complain "public, but exported as private" "$(grep -Ev "$named_inside" <<<"$symbols" | grep '@@TAMIS_PRIVATE' || true)"
