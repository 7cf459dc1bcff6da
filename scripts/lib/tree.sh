# shellcheck shell=bash
# Sourced by the scripts that run on a GPU machine: selects the programs and the Python.

# dcmt_find_tree PRESET [--tree DIR ...]: sets dcmt_tree and dcmt_python, and dcmt_rest to the arguments after them.
# Without --tree it sets up and builds PRESET.
# shellcheck disable=SC2034  # all three are for the script that calls
dcmt_find_tree() {
  local preset=$1 root
  shift
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  if [[ ${1:-} == --tree ]]; then
    [[ -x ${2:-}/bin/dc-memtrace ]] || {
      sed -n 's/^# Usage/usage/p' "$0" >&2
      exit 2
    }
    dcmt_tree=$(cd "$2" && pwd)
    dcmt_python=${DCMT_PYTHON:-python3}
    shift 2
  else
    # shellcheck source-path=SCRIPTDIR source=setup.sh
    source "$root/scripts/lib/setup.sh"
    dcmt_setup_packages
    dcmt_setup_python
    dcmt_setup_test_requirements
    dcmt_build "$preset"
    dcmt_tree=$root/build/$preset
  fi
  dcmt_rest=("$@")
}
