#!/bin/bash
# Installs a build into a temporary prefix and uses it as a user would, with find_package
# from C++ and from C and with pkg-config. Then moves the prefix and does it again.
# Usage: check.sh BUILD_DIR
set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() { # quietly COMMAND…: its output only if it fails
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "failed: $*"
    exit 1
  }
}

# with_cmake PREFIX NAME OPTION… configures and builds the consumer, with outputs in $work/NAME.
with_cmake() {
  local prefix=$1 name=$2
  shift 2
  quietly cmake -S "$sources" -B "$work/$name" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  quietly cmake --build "$work/$name"
}

with_pkg_config() { # with_pkg_config PREFIX: builds and runs the C programs
  local flags libdir pc program_and_package
  pc=$(find "$1" -name tamis.pc)
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$pc")
  flags=(--cflags --libs)
  libdir=$(dirname "$PKG_CONFIG_PATH")
  if [ ! -e "$libdir/libtamis.so" ]; then flags+=(--static); fi
  for program_and_package in consumer=tamis consumer_lab=tamis-lab; do
    # shellcheck disable=SC2046 # the flags are words
    quietly "${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror "$sources/${program_and_package%=*}.c" \
      -o "$work/by_pkg_config" $(pkg-config "${flags[@]}" "${program_and_package#*=}") -lm
    LD_LIBRARY_PATH=$libdir "$work/by_pkg_config"
  done
}

use() { # use PREFIX NAME
  with_cmake "$1" "$2"
  "$work/$2/consumer_cpp"
  "$work/$2/consumer_c"
  "$work/$2/consumer_lab_cpp"
  "$work/$2/consumer_lab_c"
  quietly "$work/$2/embed_c"
  quietly "$work/$2/embed_cpp"
  with_pkg_config "$1"
}

command -v pkg-config >/dev/null || {
  echo "pkg-config is not installed; the Debian package is pkg-config"
  exit 1
}
quietly cmake --install "$build" --prefix "$work/prefix"
use "$work/prefix" first
# Installs the engine alone: a program that links it needs only the C++ runtime, and no header
# mentions the lab.
quietly cmake --install "$build" --prefix "$work/engine" --component engine
if [ -n "$(find "$work/engine" -path '*lab*')" ]; then
  echo "the component engine brings files of the lab: $(find "$work/engine" -path '*lab*')"
  exit 1
fi
quietly cmake -S "$sources" -B "$work/engine_only" -DCMAKE_PREFIX_PATH="$work/engine" -DENGINE_ONLY=ON
quietly cmake --build "$work/engine_only"
"$work/engine_only/consumer_cpp"
engine=$(find "$work/engine" -name 'libtamis.so')
if [ -n "$engine" ]; then
  needed=$(readelf -d "$engine" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -Ev '^(libstdc\+\+|libm|libgcc_s|libc|libpthread|ld-linux-x86-64)\.so' || true)
  if [ -n "$needed" ]; then
    echo "the engine needs $needed"
    exit 1
  fi
fi
if [ -n "$(find "$work/prefix" -name 'libtamis.so')" ]; then
  with_cmake "$work/prefix" c_only -DC_ONLY=ON
  "$work/c_only/consumer_c"
fi
mkdir "$work/elsewhere"
mv "$work/prefix" "$work/elsewhere/moved"
use "$work/elsewhere/moved" second
if [ -x "$work/elsewhere/moved/bin/tamis" ]; then quietly "$work/elsewhere/moved/bin/tamis" info; fi
echo "consumers: all built and ran, before and after the prefix was moved"
