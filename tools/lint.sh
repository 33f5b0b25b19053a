#!/usr/bin/env bash
# Runs clang-tidy over the libraries, the program and the Python module, changing nothing.
#   usage: tools/lint.sh BUILD JOBS [SINCE]
# BUILD is a configured build folder. With SINCE, a revision, it reads only what has changed since:
# changed sources and, for a changed header, the first source that includes it.
set -euo pipefail

build=${1:?usage: tools/lint.sh BUILD JOBS [SINCE]}
jobs=${2:?usage: tools/lint.sh BUILD JOBS [SINCE]}
since=${3:-}

if [ -z "$since" ]; then
  mapfile -t sources < <(git ls-files 'src/*.cpp' 'cli/*.cpp' 'python/src/*.cpp')
else
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$since" -- 'include/*.h' 'src/*.h' 'src/*.cpp' 'cli/*.h' 'cli/*.cpp' 'python/src/*.h' 'python/src/*.cpp')
  mapfile -t sources < <(
    for file in "${changed[@]}"; do
      case $file in
        *.cpp) echo "$file" ;;
        *.h)
          included=${file#include/} included=${included#src/} included=${included#cli/} included=${included#python/src/}
          git grep -lE "#include [<\"]${included}[>\"]" -- 'src/*.cpp' 'cli/*.cpp' 'python/src/*.cpp' | head -n 1 || true
          ;;
      esac
    done | sort -u
  )
  echo "lint: ${#sources[@]} sources stand for the ${#changed[@]} files that changed since $since"
fi
[ ${#sources[@]} -gt 0 ] || exit 0

# The flags are those of g++, some of which clang does not know. Lines that only count warnings
# hidden in other projects' headers are left out.
printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -n 1 clang-tidy --quiet -p "$build" \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated\.$' >&2)
