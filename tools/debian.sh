#!/usr/bin/env bash
# Installs the Debian packages in LIST that are missing. Uses no network if none is missing.
#   usage: tools/debian.sh LIST
set -euo pipefail

list=${1:?usage: tools/debian.sh LIST}
[ "${DEPS:-yes}" != no ] || exit 0
mapfile -t wanted < <(sed 's/#.*//' "$list" | tr -s '[:space:]' '\n' | sed '/^$/d')

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  echo "make deps: this is not a Debian system; install the equivalents of: ${wanted[*]}; then run make with DEPS=no" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
  # With several architectures there is one status for each, without separators, the native one
  # first.
  [[ $status == installed* ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "make deps: this needs root or sudo; as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing ${missing[*]}" >&2
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
"${apt[@]}" update
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" > /dev/null
