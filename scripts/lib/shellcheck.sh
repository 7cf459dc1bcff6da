#!/usr/bin/env bash
# Runs shellcheck on the shell scripts among the given files. Without shellcheck it prints a note and passes.
set -euo pipefail

if ! command -v shellcheck >/dev/null; then
  echo "shellcheck is not installed: shell scripts were not checked" >&2
  exit 0
fi
scripts=()
for file in "$@"; do
  if [[ $file == *.sh ]] || head -n 1 "$file" | grep -q '^#!.*sh$'; then
    scripts+=("$file")
  fi
done
if ((${#scripts[@]} > 0)); then
  shellcheck --external-sources "${scripts[@]}"
fi
