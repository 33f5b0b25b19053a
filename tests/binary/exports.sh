#!/bin/bash
# What leaves the shared library is what tamis.h declares, and of namespace tamis what is public.
# Usage: exports.sh LIBRARY HEADER
set -euo pipefail
library=$1
header=$2
symbols=$(nm -D --defined-only --format=just-symbols "$library")
internal='fmt|nlohmann|capi|kernels|parallel_for|Dyadic|exact_dot|Stream|philox|Scratch|fail'

complain() { # complain WHAT LIST: fails if the list is not empty
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2"
    exit 1
  fi
}
declared=$(grep -oE '\btamis_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u)
exported=$(grep '^tamis_' <<<"$symbols" | sort -u)
complain "declared in tamis.h but not exported" "$(comm -23 <(echo "$declared") <(echo "$exported"))"
complain "exported but not declared in tamis.h" "$(comm -13 <(echo "$declared") <(echo "$exported"))"
complain "exported from outside namespace tamis" \
  "$(grep -Ev '^(tamis_|_ZN5tamis|_ZNK5tamis|_ZT[ISV]N5tamis)' <<<"$symbols" || true)"
complain "exported but internal" "$(grep -E "^_Z.*($internal)" <<<"$symbols" || true)"
