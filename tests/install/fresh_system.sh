#!/usr/bin/env bash
# The wheel in a Debian 12, or another system, that has nothing but Python, as a user without rights: installed by pip, a job recorded and
# reported without a compiler; a block of a program, and a program in standby; a torch without a provider, with g++; `pip install
# --user`; a site-packages that cannot be written to; a Python with its libraries in a prefix that it was not built for, as conda
# has them; everything removed again. The last line says how long the two ways took; exit 1 at the first surprise.
#
# Torch is not downloaded: the site-packages folder that is given (of the system's CPython, with torch) is lent to the
# environments, as if pip had installed it there. With DCMT_TORCH_WHEELS, a folder with the wheels of that torch and of what it
# needs, pip installs them in the first environment. Needs root and debootstrap. DCMT_SUITE (bookworm) and DCMT_MIRROR say what
# is made: "noble" from a mirror of Ubuntu, for one. DCMT_INTERPRETER (python3) is another CPython of that system, as python3.15 of
# testing. DCMT_PREFIX is an installation of the same CPython, of which a copy
# becomes that prefix; this needs patchelf. Without it this part is left out, and the last line says so.
#
# Usage: tests/install/fresh_system.sh WHEEL SITE_PACKAGES [FOLDER]
set -euo pipefail

(($# == 2 || $# == 3)) || { sed -n 's/^# Usage/usage/p' "$0" >&2; exit 2; }
wheel=$(realpath "$1") site=$(realpath "$2") folder=${3:-$(mktemp -d)}
root=$folder/root
suite=${DCMT_SUITE:-bookworm} mirror=${DCMT_MIRROR:-http://deb.debian.org/debian} interpreter=${DCMT_INTERPRETER:-python3}
components=main script=()
[[ $mirror != *ubuntu* ]] || components=main,universe  # where Ubuntu has python3-venv
# Debian's debootstrap knows the older Ubuntus by name; the later ones are made alike.
[[ $mirror != *ubuntu* || -e /usr/share/debootstrap/scripts/$suite ]] || script=(/usr/share/debootstrap/scripts/gutsy)
torch=$(sed -n "s/^__version__ = '\([0-9]*\.[0-9]*\).*/\1/p" "$site/torch/version.py")

fail() { echo "FAILED: $*" >&2; exit 1; }

unmount() {
  local place
  for place in lent wheels proc dev/shm; do
    if mountpoint -q "$root/$place"; then umount "$root/$place"; fi
  done
}
# A folder that was named is kept, with its root, for the next time.
if (($# == 3)); then trap unmount EXIT; else trap 'unmount; rm -rf --one-file-system "$folder"' EXIT; fi

if [[ ! -x $root/usr/bin/$interpreter ]]; then
  debootstrap --variant=minbase --components=$components --include="$interpreter,$interpreter-venv,python3-pip" "$suite" "$root" \
    "$mirror" "${script[@]}" >"$folder/debootstrap.log" || fail "debootstrap, see $folder/debootstrap.log"
  # Testing's lists are valid for a week; a mirror may be older.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90valid"
fi
unmount
mkdir -p "$root/lent" "$root/dev/shm"
mount --bind -o ro "$site" "$root/lent"
if [[ -n ${DCMT_TORCH_WHEELS:-} ]]; then
  mkdir -p "$root/wheels"
  mount --bind -o ro "$DCMT_TORCH_WHEELS" "$root/wheels"
fi
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=512m tmpfs "$root/dev/shm"
grep -q '^user:' "$root/etc/passwd" || chroot "$root" useradd -m user
rm -rf "$root"/home/user/* "$root"/home/user/.[a-z]*
cp "$wheel" "$root/home/user/"
cp "$(dirname "${BASH_SOURCE[0]}")/../../samples/growing_list/train.py" "$root/home/user/"

# as_user WORD...: as the user, who has no home but this and no compiler but what was installed.
as_user() { chroot --userspec=user:user "$root" env -i HOME=/home/user PATH="$path" PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"; }
lend() { echo /lent >"$root$1/lent.pth" && chroot "$root" chown user:user "$1/lent.pth"; }
name=$(basename "$wheel")
venv=/home/user/venv
python=$(chroot "$root" "$interpreter" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
packages=$venv/lib/$python/site-packages
path=$venv/bin:/home/user/.local/bin:/usr/bin:/bin

# recorded FOLDER: records the job, and finds its defect.
recorded() {
  as_user sh -c "cd && dc-memtrace run -o $1 -- $python train.py" || fail "run $1"
  as_user dc-memtrace report "/home/user/$1" >"$folder/$1.txt" || fail "report $1"
  grep -q "GROWS  main.losses" "$folder/$1.txt" || fail "the report of $1 does not name main.losses"
}
# The files of a folder, to be compared. Pip leaves empty folders: lib/cmake, share/man and their like.
listed() { (cd "$root$1" && find . -not -type d -not -name '*.pyc' -not -name __pycache__ | sort); }

as_user "$interpreter" -m venv "$venv"
torch_from="torch lent"
if [[ -n ${DCMT_TORCH_WHEELS:-} ]]; then
  start=$SECONDS
  as_user pip install -q --no-index --find-links /wheels "torch==$torch.*" numpy || fail "torch cannot be installed"
  torch_from="torch by pip in $((SECONDS - start)) s"
else
  lend "$packages"
fi
if [[ -x $root/usr/bin/g++ ]]; then  # of an earlier time
  chroot "$root" apt-get -q -y autoremove --purge g++ >"$folder/apt.log" 2>&1 || fail "g++ cannot be removed, see $folder/apt.log"
fi
[[ ! -x $root/usr/bin/g++ ]] || fail "the fresh root has a compiler"
before=$(listed "$venv")
start=$SECONDS
as_user pip install -q "/home/user/$name"
recorded promised
without_compiler=$((SECONDS - start))
as_user dc-memtrace doctor --python "$venv/bin/python" >"$folder/doctor.txt" || fail "doctor: $(cat "$folder/doctor.txt")"
as_user python3 -c 'import dc_memtrace; dc_memtrace.step()'
as_user python3 - <<'PYTHON' || fail "pytest would not find its plugin"
from importlib.metadata import entry_points
assert "dc_memtrace.pytest_plugin" in [each.value for each in entry_points(group="pytest11")]
PYTHON
as_user sh -c "cd && python3 -" <<'PYTHON' || fail "a block is not recorded"
import torch, dc_memtrace
with dc_memtrace.record("block") as recording:
    torch.ones(1 << 20)
assert recording.peak_bytes["cpu"] >= 4 << 20, recording.peak_bytes
PYTHON
cat >"$root/home/user/loop.py" <<'PYTHON'
import time, torch
kept = []
while len(kept) < 1000:
    kept.append(torch.ones(1 << 16))
    time.sleep(0.05)
PYTHON
as_user sh -c 'cd && { dc-memtrace run --standby -- python3 loop.py & } && trap "kill $!" EXIT &&
  until dc-memtrace status | grep -q loop.py; do sleep 0.2; done && dc-memtrace attach --name loop.py --duration 3s -o attached' ||
  fail "a program in standby cannot be recorded"
as_user dc-memtrace report /home/user/attached >"$folder/attached.txt" || fail "report attached"
grep -q "main.kept" "$folder/attached.txt" || fail "the report of an attached program does not name main.kept"
[[ -e $root$venv/share/man/man1/dc-memtrace-run.1 ]] || fail "no manual page"

# A torch for which the wheel has no provider.
rm -rf "$root/away"  # of an earlier time
mv "$root$venv/lib/dcmt/torch-$torch" "$root/away"
as_user sh -c "cd && dc-memtrace run -o none -- python3 train.py" 2>"$folder/none.txt" || fail "a refused job fails"
grep -q "no provider for torch $torch.*doctor --prepare" "$folder/none.txt" || fail "what was said: $(cat "$folder/none.txt")"
as_user dc-memtrace doctor --prepare --python "$venv/bin/python" 2>"$folder/no_compiler.txt" && fail "prepared without a compiler"
grep -q "there is no C++ compiler" "$folder/no_compiler.txt" || fail "what was said: $(cat "$folder/no_compiler.txt")"
chroot "$root" sh -c 'apt-get -q update && apt-get -q -y --no-install-recommends install g++' >"$folder/apt.log" 2>&1 ||
  fail "g++ cannot be installed, see $folder/apt.log"
start=$SECONDS
as_user dc-memtrace doctor --prepare --python "$venv/bin/python" || fail "prepare"
recorded prepared
with_compiler=$((SECONDS - start))
mv "$root/away" "$root$venv/lib/dcmt/torch-$torch"

# Nothing stays.
as_user dc-memtrace doctor --clean
[[ ! -e $root/home/user/.cache/dc-memtrace ]] || fail "--clean left the cache"
as_user pip uninstall -q -y dc-memtrace
[[ $before == "$(listed "$venv")" ]] || fail "pip uninstall left $(diff <(echo "$before") <(listed "$venv"))"

# A site-packages, and a whole environment, that cannot be written to.
as_user pip install -q "/home/user/$name"
chroot "$root" chown -R root:root "$venv"
recorded read_only
as_user touch "$venv/lib/dcmt/x" 2>/dev/null && fail "the environment can be written to"
rm -rf "${root:?}$venv"

# pip install --user, and Debian's own Python.
as_user "$python" -m pip install -q --user --break-system-packages --no-warn-script-location "/home/user/$name"
lend "/home/user/.local/lib/$python/site-packages"
recorded user
as_user "$python" -m pip uninstall -q -y --break-system-packages dc-memtrace
[[ -z $(cd "$root/home/user/.local" && find . -type f -path '*dc*mem*' -o -type f -path '*dcmt*') ]] || fail "pip uninstall left something in ~/.local"
rm -rf "$root/home/user/.local"  # the prefix would see the torch, and the pip, that were lent to it

# A prefix of its own, with its own libraries, at another place than the one it was built for.
prefix=/home/user/conda
copy_prefix() {
  local to=$root$prefix library
  mkdir -p "$to/bin" "$to/lib/$python/site-packages"
  cp -a "$DCMT_PREFIX/bin/$python" "$to/bin/"
  ln -s "$python" "$to/bin/python3"
  tar -C "$DCMT_PREFIX/lib" -c --exclude=site-packages --exclude=test --exclude=__pycache__ --exclude='config-*' . | tar -C "$to/lib" -x
  # Those of the C library are the system's everywhere.
  ldd "$to/bin/$python" "$to/lib/$python"/lib-dynload/*.so "$site"/torch/lib/libc10.so | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libpython[0-9.]*|libc10)\.so' | sort -u | while read -r library; do
    cp -L "$library" "$to/lib/"
  done
  # shellcheck disable=SC2016 # the loader expands it
  find "$to/bin" "$to/lib" -maxdepth 1 -type f \( -name "$python" -o -name 'libpython*.so.*' \) \
    -exec patchelf --force-rpath --set-rpath '$ORIGIN/../lib' {} +
  chroot "$root" chown -R user:user "$prefix"
}
relocated="no prefix as of conda (DCMT_PREFIX)"
if [[ -n ${DCMT_PREFIX:-} ]]; then
  [[ -x $DCMT_PREFIX/bin/$python ]] || fail "DCMT_PREFIX has no bin/$python"
  copy_prefix
  path=$prefix/bin:/usr/bin:/bin
  as_user python3 -m ensurepip >"$folder/ensurepip.txt" 2>&1 || fail "no pip in the prefix, see $folder/ensurepip.txt"
  lend "$prefix/lib/$python/site-packages"
  as_user python3 -c 'import torch; print(open("/proc/self/maps").read())' >"$folder/maps.txt"
  grep -q "$prefix/lib/libstdc++.so" "$folder/maps.txt" || fail "torch in the prefix does not use the libraries of the prefix"
  before=$(listed "$prefix")
  as_user python3 -m pip install -q "/home/user/$name"
  recorded relocated
  as_user dc-memtrace doctor --python "$prefix/bin/python3" >"$folder/doctor_relocated.txt" ||
    fail "doctor: $(cat "$folder/doctor_relocated.txt")"
  as_user python3 -m pip uninstall -q -y dc-memtrace
  [[ $before == "$(listed "$prefix")" ]] || fail "pip uninstall left $(diff <(echo "$before") <(listed "$prefix"))"
  relocated="a prefix as of conda"
fi
[[ ! -e $root/home/user/.cache/dc-memtrace ]] || fail "something made a cache: $(find "$root/home/user/.cache/dc-memtrace")"

echo "$suite, $python, torch $torch, $torch_from, $relocated: $without_compiler s from pip install to the report without a compiler, $with_compiler s with one for a torch without a provider"
((without_compiler < 60 && with_compiler < 180)) || fail "too slow"
