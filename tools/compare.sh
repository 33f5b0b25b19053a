#!/usr/bin/env bash
# Compares the working tree with an earlier revision: builds both, runs the same commands with both
# and prints whose results differ, then times decode steps of both in turns.
#   usage: tools/compare.sh REVISION [results|speed]
set -euo pipefail
cd "$(dirname "$0")/.."

revision=${1:?usage: tools/compare.sh REVISION [results|speed]}
what=${2:-all}
commit=$(git rev-parse --verify --quiet "$revision^{commit}") || {
  echo "compare: '$revision' is no revision of this repository; HEAD~1 or a commit's hash would be" >&2
  exit 2
}
case $what in all | results | speed) ;; *)
  echo "compare: '$what' is neither results nor speed" >&2
  exit 2
  ;;
esac

folder=build/compare
source=$folder/$commit
if [ ! -e "$source/CMakeLists.txt" ]; then
  mkdir -p "$source"
  git archive "$commit" | tar -x -C "$source"
fi

build() { # build SOURCE BUILD
  if ! {
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release &&
      cmake --build "$2" -j "${JOBS:-$(nproc)}"
  } > "$folder/build.log" 2>&1; then
    tail -n 30 "$folder/build.log" >&2
    echo "compare: building $1 failed" >&2
    exit 3
  fi
}
build "$source" "$source/build"
build . "$folder/here"

python=python3
if [ -x .venv/bin/python ]; then python=.venv/bin/python; fi
"$python" tools/compare.py "$what" "$source/build/cli/tamis" "$folder/here/cli/tamis"
