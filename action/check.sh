#!/usr/bin/env bash
# The step of action.yml that compares. BASELINE, COMMAND and ARGUMENTS are its inputs.
set -uo pipefail

read -r -a arguments <<<"${ARGUMENTS:-}"
command=()
if [[ -n ${COMMAND:-} ]]; then command=(-- bash -c "$COMMAND"); fi
exec dc-memtrace check --baseline "$BASELINE" --github --junit dc-memtrace.xml --sarif dc-memtrace.sarif \
  "${arguments[@]}" "${command[@]}"
