#!/usr/bin/env bash
# Makes the virtual environment DIR from LIST with Debian's Python; instant when it is current.
#   usage: tools/venv.sh DIR LIST
set -euo pipefail

dir=${1:?usage: tools/venv.sh DIR LIST}
list=${2:?usage: tools/venv.sh DIR LIST}

# Current: made from this very list, and its interpreter still starts (a system upgrade replaces it).
if cmp -s "$list" "$dir/.installed" && "$dir/bin/python" -c '' 2> /dev/null; then exit 0; fi
if [ "${DEPS:-yes}" = no ]; then
  [ ! -x "$dir/bin/python" ] || exit 0
  echo "make deps: $dir is missing and DEPS=no; make it with: python3 -m venv $dir && $dir/bin/pip install -r $list" >&2
  exit 1
fi

# Not whatever python3 comes first in PATH: that one may lack venv or vanish.
python=/usr/bin/python3
[ -x $python ] || python=python3
echo "making $dir from $list" >&2
rm -f "$dir/.installed"
"$python" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
cp "$list" "$dir/.installed"
