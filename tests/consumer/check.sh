#!/bin/bash
# Installs a build into a temporary prefix and uses it as a stranger would: find_package from C++ and
# from C, and pkg-config; then moves the prefix and does it again. Usage: check.sh BUILD_DIR
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

with_cmake() { # with_cmake PREFIX NAME OPTION…: configures and builds the consumer, outputs in $work/NAME
  local prefix=$1 name=$2
  shift 2
  quietly cmake -S "$sources" -B "$work/$name" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  quietly cmake --build "$work/$name"
}

with_pkg_config() { # with_pkg_config PREFIX: builds and runs the C program
  local flags libdir pc
  pc=$(find "$1" -name tamis.pc)
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$pc")
  flags=(--cflags --libs)
  libdir=$(dirname "$PKG_CONFIG_PATH")
  if [ ! -e "$libdir/libtamis.so" ]; then flags+=(--static); fi
  # shellcheck disable=SC2046 # the flags are words
  quietly "${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror "$sources/consumer.c" -o "$work/by_pkg_config" \
    $(pkg-config "${flags[@]}" tamis) -lm
  LD_LIBRARY_PATH=$libdir "$work/by_pkg_config"
}

use() { # use PREFIX NAME
  with_cmake "$1" "$2"
  "$work/$2/consumer_cpp"
  "$work/$2/consumer_c"
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
if [ -n "$(find "$work/prefix" -name 'libtamis.so')" ]; then
  with_cmake "$work/prefix" c_only -DC_ONLY=ON
  "$work/c_only/consumer_c"
fi
mkdir "$work/elsewhere"
mv "$work/prefix" "$work/elsewhere/moved"
use "$work/elsewhere/moved" second
if [ -x "$work/elsewhere/moved/bin/tamis" ]; then quietly "$work/elsewhere/moved/bin/tamis" info; fi
echo "consumers: all built and ran, before and after the prefix was moved"
