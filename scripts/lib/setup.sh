# shellcheck shell=bash
# Sourced by the scripts: sets up what is needed to build and run the project. Every function checks first, and does
# nothing if nothing is missing. Output goes to build/setup.log; progress goes to standard error.
#
# Environment: DCMT_PYTHON names a Python that has torch (otherwise a project environment .venv is made). pip and apt
# take their indexes from their usual variables and files.

dcmt_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dcmt_log=$dcmt_root/build/setup.log
dcmt_python=
dcmt_wheel_tools=
dcmt_missing=()
mkdir -p "$dcmt_root/build"
: >"$dcmt_log"

# With these, the same flags produce the same object in every build folder.
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$dcmt_root

# For recording and reports; and for all else: the viewer, tests, benchmarks.
dcmt_packages=(
  g++ cmake ninja-build ccache git
  libfmt-dev libcli11-dev nlohmann-json3-dev libsqlite3-dev libtomlplusplus-dev
  python3-venv python3-dev
)
dcmt_more_packages=(
  libgtest-dev libbenchmark-dev
  qt6-base-dev qt6-svg-dev fonts-dejavu-core
  libjemalloc2 libtcmalloc-minimal4 libc6-i386 valgrind libxml2-utils bindfs
)

dcmt_say() { printf '%s\n' "$*" >&2; }

dcmt_fail() {
  dcmt_say "error: $*"
  exit 1
}

# dcmt_step LABEL COMMAND...: runs the command quietly and prints its duration. Stops with the end of the log on
# failure.
dcmt_step() {
  local label=$1 start=$SECONDS
  shift
  printf '%s ... ' "$label" >&2
  if ! "$@" >>"$dcmt_log" 2>&1; then
    dcmt_say "failed"
    tail -n 40 "$dcmt_log" >&2
    dcmt_fail "$label failed; all of its output is in ${dcmt_log#"$dcmt_root"/}"
  fi
  dcmt_say "$((SECONDS - start)) s"
}

dcmt_as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

dcmt_install_packages() {
  dcmt_as_root apt-get update -q
  dcmt_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# dcmt_install_missing PACKAGE...
dcmt_install_missing() {
  local missing=() package
  command -v dpkg-query >/dev/null ||
    dcmt_fail "this is not Debian or Ubuntu: install what corresponds to $*; then cmake --preset release"
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return
  ((EUID == 0)) || command -v sudo >/dev/null || dcmt_fail "run as root or install: ${missing[*]}"
  dcmt_step "installing ${#missing[@]} system packages" dcmt_install_packages "${missing[@]}"
}

# What recording and reports need; and what everything needs.
dcmt_setup_build_packages() { dcmt_install_missing "${dcmt_packages[@]}"; }
dcmt_setup_packages() { dcmt_install_missing "${dcmt_packages[@]}" "${dcmt_more_packages[@]}"; }

# dcmt_find_missing FILE [--exact]: sets dcmt_missing to the requirements of scripts/FILE that dcmt_python lacks.
dcmt_find_missing() {
  local file=$1 lines
  shift
  lines=$("$dcmt_python" "$dcmt_root/scripts/lib/missing_requirements.py" "$@" "$dcmt_root/scripts/$file") ||
    dcmt_fail "$dcmt_python cannot say which packages it has"
  dcmt_missing=()
  [[ -z $lines ]] || mapfile -t dcmt_missing <<<"$lines"
}

# The size of torch with CUDA's libraries, as wheels and installed, and of a build, with some reserve.
dcmt_torch_gb=9
dcmt_build_gb=6

# dcmt_need_space WHAT GB REMEDY: stops before a step that would fail half-way because the disk is full.
dcmt_need_space() {
  local free
  free=$(df --output=avail --block-size=1G "$dcmt_root" | tail -n 1)
  ((free >= $2)) || dcmt_fail "$1 needs $2 GB of disk, and $((free)) GB are free. $3"
}

# Sets dcmt_python to a Python that has torch.
dcmt_setup_python() {
  if [[ -n ${DCMT_PYTHON:-} ]]; then
    dcmt_python=$(command -v "$DCMT_PYTHON") || dcmt_fail "DCMT_PYTHON=$DCMT_PYTHON: no such program"
    [[ $dcmt_python == /* ]] || dcmt_python=$PWD/$dcmt_python
    "$dcmt_python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' ||
      dcmt_fail "DCMT_PYTHON=$DCMT_PYTHON has no torch. Unset it, and a project environment is made."
    return
  fi
  dcmt_python=$dcmt_root/.venv/bin/python
  [[ -x $dcmt_python ]] || dcmt_step "creating .venv" python3 -m venv "$dcmt_root/.venv"
  dcmt_find_missing requirements.txt --exact
  [[ ${dcmt_missing[*]} != *torch* ]] ||
    dcmt_need_space "installing torch" $dcmt_torch_gb "Free some, or set DCMT_PYTHON to a Python that has torch."
  # Python compiles a file at its first import; most files of torch are never imported.
  ((${#dcmt_missing[@]} == 0)) ||
    dcmt_step "installing ${dcmt_missing[*]}" "$dcmt_python" -m pip install --no-compile "${dcmt_missing[@]}"
}

# dcmt_program_path NAME: prints its path, from any folder. Links stay: a Python finds its environment by its name.
dcmt_program_path() {
  local path
  path=$(command -v "$1") || dcmt_fail "$1: no such program"
  printf '%s/%s\n' "$(cd "$(dirname "$path")" && pwd)" "$(basename "$path")"
}

# Sets dcmt_wheel_tools to an environment with what makes wheels and sdists.
dcmt_setup_wheel_tools() {
  dcmt_wheel_tools=$dcmt_root/build/wheel-tools
  [[ -x $dcmt_wheel_tools/bin/python ]] || dcmt_step "creating build/wheel-tools" python3 -m venv "$dcmt_wheel_tools"
  dcmt_step "installing what makes wheels" "$dcmt_wheel_tools/bin/python" -m pip install --no-deps \
    -r "$dcmt_root/scripts/requirements-wheel.txt"
}

# Makes the imports of the tests available to dcmt_python: in .venv, or beside a Python that the project does not own.
dcmt_setup_test_requirements() {
  local flags=() target=()
  if [[ -n ${DCMT_PYTHON:-} ]]; then
    target=(--target "$dcmt_root/build/python-packages")
    export PYTHONPATH=$dcmt_root/build/python-packages${PYTHONPATH:+:$PYTHONPATH}
  else
    flags=(--exact)
  fi
  dcmt_find_missing requirements-test.txt "${flags[@]}"
  ((${#dcmt_missing[@]} == 0)) ||
    dcmt_step "installing ${#dcmt_missing[@]} Python packages for the tests" \
      "$dcmt_python" -m pip install --no-deps "${target[@]}" "${dcmt_missing[@]}"
}

# dcmt_build PRESET [TARGET...]: configures and builds into build/PRESET; without a target, everything.
dcmt_build() {
  local targets=("${@:2}")
  cd "$dcmt_root" || exit 1
  [[ -e build/$1/.ninja_log ]] || dcmt_need_space "building ($1)" $dcmt_build_gb "Free some."
  dcmt_step "configuring ($1)" cmake --preset "$1" -DDCMT_PYTHON="$dcmt_python"
  dcmt_step "building ($1)" cmake --build --preset "$1" --parallel "$(nproc)" --target "${targets[@]:-all}"
}

dcmt_with_torch() { sed -i -E 's/^(DCMT_COLLECTOR|DCMT_EXECUTOR):BOOL=OFF/\1:BOOL=ON/' "$1"; }

# dcmt_first_build PRESET [TARGET...]: where build/PRESET is empty, builds what needs no torch while Python's packages are
# installed: both take minutes, and an installation uses one core. What is still missing afterwards, because it failed,
# is for the steps that follow: they do it again, and say what is wrong. For presets with a collector.
dcmt_first_build() {
  local installing targets=("${@:2}") cache=$dcmt_root/build/$1/CMakeCache.txt
  [[ ! -e $cache ]] || return 0
  cd "$dcmt_root" || exit 1
  dcmt_need_space "building ($1) and installing torch" $((dcmt_build_gb + dcmt_torch_gb)) "Free some."
  (
    dcmt_setup_python
    [[ $1 == release ]] || dcmt_setup_test_requirements
  ) >>"$dcmt_log" 2>&1 &
  installing=$!
  # Also where a step fails: the next time all is built.
  # shellcheck disable=SC2064 # this preset's cache
  trap "dcmt_with_torch '$cache'" EXIT
  dcmt_step "configuring ($1) without torch, which is installed meanwhile" \
    cmake --preset "$1" -DDCMT_COLLECTOR=OFF -DDCMT_EXECUTOR=OFF
  dcmt_step "building ($1) what needs no torch" \
    cmake --build --preset "$1" --parallel "$(nproc)" --target "${targets[@]:-all}"
  wait $installing || true
  dcmt_with_torch "$cache"
  trap - EXIT
}
