#!/usr/bin/env bash
# The wheel on this system, as whoever calls: no network, no rights. It is installed into a new environment that sees the
# torch of PYTHON, records the job of samples/growing_list, finds its defect and is removed again. Where there is g++, the
# same without the wheel's provider for this torch, with one that is built here. The last line says how long each took; exit
# 1 at the first surprise, or where it took longer than 60 and 180 seconds.
#
# Usage: tests/install/this_system.sh WHEEL PYTHON
set -euo pipefail

(($# == 2)) || { sed -n 's/^# Usage/usage/p' "$0" >&2; exit 2; }
wheel=$(realpath "$1") python=$2
job=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../samples/growing_list/train.py")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME=$folder/home PIP_DISABLE_PIP_VERSION_CHECK=1
unset XDG_CACHE_HOME VIRTUAL_ENV
mkdir "$HOME"

fail() { echo "FAILED: $*" >&2; exit 1; }

# The pip of PYTHON: not every system's Python can put one into an environment.
"$python" -m venv --without-pip "$folder/venv" || fail "no environment"
pip() { "$python" -m pip --python "$folder/venv/bin/python" "$@"; }
packages=$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' >"$packages/lent.pth"
torch=$("$python" -c 'import torch; print(".".join(torch.__version__.split(".")[:2]))')
export PATH=$folder/venv/bin:$PATH
cd "$folder"

# recorded FOLDER: records the job, and finds its defect.
recorded() {
  dc-memtrace run -o "$1" -- python "$job" >/dev/null || fail "run $1"
  dc-memtrace report "$1" >"$1.txt" || fail "report $1"
  grep "GROWS  main.losses" "$1.txt" || fail "the report of $1 does not name main.losses: $(cat "$1.txt")"
}
listed() { (cd "$1" && find . -not -type d -not -name '*.pyc' | sort); }

before=$(listed venv)
start=$SECONDS
pip install -q --no-index "$wheel"
recorded promised
without_compiler=$((SECONDS - start))
dc-memtrace doctor --python "$folder/venv/bin/python" >doctor.txt || fail "doctor: $(cat doctor.txt)"

with_compiler=0
if command -v g++ >/dev/null; then
  rm -r "venv/lib/dcmt/torch-$torch"
  dc-memtrace run -o none -- python -c pass 2>none.txt || fail "a refused job fails"
  start=$SECONDS
  dc-memtrace doctor --prepare --python "$folder/venv/bin/python" || fail "prepare"
  recorded prepared
  with_compiler=$((SECONDS - start))
  dc-memtrace doctor --clean
fi
pip uninstall -q -y dc-memtrace
[[ $before == "$(listed venv)" ]] || fail "pip uninstall left $(diff <(echo "$before") <(listed venv))"
[[ -z $(find "$HOME" -path '*dc-memtrace*') ]] || fail "--clean left $(find "$HOME" -path '*dc-memtrace*')"

# shellcheck disable=SC1091 # every system has it
. /etc/os-release
prepared=", $with_compiler s for a torch without a provider"
((with_compiler > 0)) || prepared="; there is no g++ here, so no provider was built"
echo "$PRETTY_NAME, user $(id -u), $(basename "$(realpath "$python")"), torch $torch: $without_compiler s from pip install to the report$prepared"
((without_compiler < 60 && with_compiler < 180)) || fail "too slow"
