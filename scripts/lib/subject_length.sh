#!/usr/bin/env bash
# Checks that subjects of commits have at most 72 characters: of the file of a commit's message, as git's hook commit-msg
# gives it, or each line of standard input.
set -euo pipefail

export LC_ALL=C.UTF-8  # characters, not bytes
longest=72
if (($# == 1)); then
  subjects=$(grep -v '^#' "$1" | head -n 1)
else
  subjects=$(cat)
fi
failed=0
while IFS= read -r subject; do
  ((${#subject} <= longest)) || { printf 'subject of %d characters, at most %d: %s\n' "${#subject}" "$longest" "$subject" >&2; failed=1; }
done <<<"$subjects"
exit $failed
