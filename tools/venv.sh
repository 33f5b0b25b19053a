#!/usr/bin/env bash
# Makes the virtual environment DIR from LIST with Debian's Python. Does nothing if it is current.
#   usage: tools/venv.sh DIR LIST
set -euo pipefail

dir=${1:?usage: tools/venv.sh DIR LIST}
list=${2:?usage: tools/venv.sh DIR LIST}

# It is current if it was made from this very list and its interpreter still starts, which a system
# upgrade may prevent.
if cmp -s "$list" "$dir/.installed" && "$dir/bin/python" -c '' 2> /dev/null; then exit 0; fi
if [ "${DEPS:-yes}" = no ]; then
  [ ! -x "$dir/bin/python" ] || exit 0
  echo "make deps: $dir is missing and DEPS=no; make it with: python3 -m venv $dir && $dir/bin/pip install -r $list" >&2
  exit 1
fi

# The first python3 in PATH may lack venv or be removed later.
python=/usr/bin/python3
[ -x $python ] || python=python3
echo "making $dir from $list" >&2
rm -f "$dir/.installed"
"$python" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
cp "$list" "$dir/.installed"
