#!/usr/bin/env bash
# The Debian package of the readers, unpacked beside this system's own libraries: its version, what it needs and has, and
# that it reads a memory snapshot without anything in PATH. Exit 1 at the first surprise.
#
# Usage: tests/install/reader_package.sh DEB VERSION
set -euo pipefail

(($# == 2)) || { sed -n 's/^# Usage/usage/p' "$0" >&2; exit 2; }
deb=$(realpath "$1") version=$2
snapshot=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../testdata/snapshot_whole.pickle")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

[[ $(dpkg-deb -f "$deb" Version) == "$version" ]] || fail "its version is $(dpkg-deb -f "$deb" Version)"
needs=$(dpkg-deb -f "$deb" Depends)
[[ $needs == *qt6* && $needs != *torch* ]] || fail "it depends on $needs"
dpkg-deb -x "$deb" "$folder/root"
for file in bin/dc-memtrace bin/dc-memtrace-view share/man/man1/dc-memtrace.1 share/doc/dc-memtrace/copyright; do
  [[ -e $folder/root/usr/$file ]] || fail "it lacks /usr/$file"
done
run() { env -i PATH=/nowhere HOME="$folder" QT_QPA_PLATFORM=offscreen "$folder/root/usr/bin/dc-memtrace" "$@"; }
[[ $(run --version) == "dc-memtrace $version" ]] || fail "it says: $(run --version)"
run report "$snapshot" >"$folder/report.txt" || fail "report"
grep -q "^peak allocated" "$folder/report.txt" || fail "what was said: $(cat "$folder/report.txt")"
run view "$snapshot" --facts "$folder/facts.json" || fail "view"
echo "$(basename "$deb"): reads a memory snapshot"
