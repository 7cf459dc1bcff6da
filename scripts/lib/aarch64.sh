# shellcheck shell=bash
# Sourced by scripts/cross, after setup.sh: the parts of a build for aarch64 on another machine.
#
# Environment: DCMT_AARCH64_ROOT is where the Debian root with the libraries is, or will be made.

export DCMT_AARCH64_ROOT=${DCMT_AARCH64_ROOT:-$dcmt_root/build/aarch64-root}
dcmt_emulator=(qemu-aarch64-static -L "$DCMT_AARCH64_ROOT")
dcmt_aarch64_tests=(trace agent_core inject incomplete loader_lock release_keys scan)

# Unpacks the packages of this machine's Debian for arm64 into the root. Nothing of it is run or configured.
dcmt_make_aarch64_root() {
  local suite packages=(
    libc6-dev libfmt-dev libsqlite3-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libgtest-dev libgmock-dev
    python3-dev python3.11
  )
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$DCMT_AARCH64_ROOT.new"
  mmdebstrap --variant=extract --architectures=arm64 --include="$(IFS=, && echo "${packages[*]}")" \
    "$suite" "$DCMT_AARCH64_ROOT.new" http://deb.debian.org/debian
  mv "$DCMT_AARCH64_ROOT.new" "$DCMT_AARCH64_ROOT"
}

dcmt_setup_aarch64_root() {
  dcmt_install_missing cmake ninja-build ccache git g++-aarch64-linux-gnu qemu-user-static mmdebstrap
  [[ -d $DCMT_AARCH64_ROOT ]] || dcmt_step "making a Debian root for arm64" dcmt_make_aarch64_root
}

# dcmt_build_aarch64 OPTION...: options for CMake.
dcmt_build_aarch64() {
  local tests=("${dcmt_aarch64_tests[@]/#/dcmt_}")
  cd "$dcmt_root" || exit 1
  dcmt_step "configuring (aarch64)" cmake --preset aarch64 "$@"
  dcmt_step "building (aarch64)" cmake --build --preset aarch64 --parallel "$(nproc)" \
    --target dcmt_recording dcmt_emulated_kernel dcmt_analyzer_tests "${tests[@]/%/_tests}"
}

# Prints a line for each program of tests, and stops at the end if a test failed. Their output is in build/aarch64/emulation.
dcmt_test_aarch64() {
  local build=$dcmt_root/build/aarch64 name log left_out failed=0
  left_out=$(sed -e 's/ *#.*//' -e '/^$/d' "$dcmt_root/tests/emulation/left_out" | paste -sd :)
  mkdir -p "$build/emulation"
  for name in "${dcmt_aarch64_tests[@]}"; do
    log=$build/emulation/$name.log
    if "${dcmt_emulator[@]}" -E LD_PRELOAD="$build/lib/dcmt/libdcmt_emulated_kernel.so" "$build/bin/dcmt_${name}_tests" \
      --gtest_filter="-$left_out" >"$log" 2>&1; then
      printf '%s: %s\n' "$name" "$(sed -n 's/^\[  PASSED  \] //p' "$log")"
    else
      printf '%s: failed\n%s\n' "$name" "$(grep '^\[  FAILED' "$log" || tail -n 5 "$log")"
      failed=$((failed + 1))
    fi
  done
  ((failed == 0)) || dcmt_fail "tests failed in the emulation; their output is in build/aarch64/emulation"
}

# The last torch whose wheel for aarch64 needs no libraries of CUDA.
dcmt_aarch64_torch=2.10.0

# Sets dcmt_aarch64_python to a program that runs the root's Python, with that torch, in the emulation.
dcmt_setup_aarch64_torch() {
  local folder=$dcmt_root/build/aarch64-torch python=("$DCMT_AARCH64_ROOT"/usr/bin/python3.*[0-9])
  dcmt_aarch64_python=$folder/python
  [[ ! -x $dcmt_aarch64_python ]] || return 0
  dcmt_install_missing python3-venv
  mkdir -p "$folder"
  dcmt_step "creating build/aarch64-torch/pip" python3 -m venv "$folder/pip"
  # Without dependencies: pip would choose those of this machine's processor.
  dcmt_step "installing torch for aarch64" "$folder/pip/bin/python" -m pip install --no-compile --no-deps \
    --target "$folder/packages" --only-binary=:all: --implementation cp \
    --python-version "${python[0]##*/python}" \
    --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 \
    "torch==$dcmt_aarch64_torch" typing_extensions sympy mpmath networkx filelock jinja2 fsspec MarkupSafe
  cat >"$dcmt_aarch64_python" <<END
#!/bin/sh
exec ${dcmt_emulator[*]} -E PYTHONPATH=$folder/packages ${python[0]} "\$@"
END
  chmod +x "$dcmt_aarch64_python"
}

# Records the sample of the README: the recorder, the agent and the program run in the emulation.
dcmt_record_aarch64() {
  local build=$dcmt_root/build/aarch64 out=$dcmt_root/build/aarch64-torch/recorded
  rm -rf "$out"
  "${dcmt_emulator[@]}" -E LD_PRELOAD="$build/lib/dcmt/libdcmt_emulated_kernel.so" "$build/bin/dc-memtrace" run -o "$out" -- \
    "$dcmt_aarch64_python" "$dcmt_root/samples/growing_list/train.py"
  "${dcmt_emulator[@]}" "$build/bin/dc-memtrace" report "$out"
}
