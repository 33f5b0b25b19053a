#!/usr/bin/env bash
# Makes the environment of the benchmarks' peers (torch, ggml) in DIR, outside the repository. The
# first run downloads a few GB and compiles ggml for some minutes; later runs take no time.
#   usage: bench/peers.sh DIR [PYTHON]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: bench/peers.sh DIR [PYTHON]}
python=${2:-python3}
jobs=${JOBS:-$(nproc)}
llama='llama-cpp-python>=0.3.9,<0.4' # its source distribution carries ggml's source

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# The stamp file is a copy of the installed list, so that a changed list is installed again.
if ! cmp -s "$here/peers.txt" "$dir/.installed"; then
  [ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
  echo "installing $(grep -v '^#' "$here/peers.txt" | paste -sd' ') in $dir" >&2
  "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/peers.txt"
  cp "$here/peers.txt" "$dir/.installed"
fi

ggml=$dir/ggml
if [ ! -e "$ggml/source/CMakeLists.txt" ]; then
  echo "fetching the source of ggml" >&2
  rm -rf "$ggml"
  mkdir -p "$ggml/sdist"
  "$dir/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary llama-cpp-python -d "$ggml/sdist" "$llama"
  archive=$(echo "$ggml"/sdist/*.tar.gz)
  mkdir "$ggml/unpacked"
  tar -xzf "$archive" -C "$ggml/unpacked" --strip-components=1 --wildcards '*/vendor/llama.cpp/ggml'
  basename "$archive" .tar.gz > "$ggml/version"
  mv "$ggml/unpacked/vendor/llama.cpp/ggml" "$ggml/source"
  rm -rf "$ggml/unpacked" "$ggml/sdist"
fi

# A build folder configured by another clone refers only to that clone's files, so it is made anew.
if ! grep -qsF "CMAKE_HOME_DIRECTORY:INTERNAL=$here/ggml" "$ggml/build/CMakeCache.txt"; then
  echo "compiling ggml" >&2
  rm -rf "$ggml/build"
fi
{
  cmake -S "$here/ggml" -B "$ggml/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_SOURCE="$ggml/source"
  cmake --build "$ggml/build" -j "$jobs" --target ggml_peer
} > "$ggml/build.log" 2>&1 || { cat "$ggml/build.log" >&2; exit 1; }
