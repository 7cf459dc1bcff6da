#!/usr/bin/env bash
# The step of action.yml that compares. BASELINE, COMMAND and ARGUMENTS are its inputs; words of ARGUMENTS may be quoted.
set -uo pipefail

mapfile -d '' -t arguments < <(xargs -r printf '%s\0' <<<"${ARGUMENTS:-}")
command=()
if [[ -n ${COMMAND:-} ]]; then command=(-- bash -c "$COMMAND"); fi
exec dc-memtrace check --baseline "$BASELINE" --github --junit dc-memtrace.xml --sarif dc-memtrace.sarif \
  "${arguments[@]}" "${command[@]}"
