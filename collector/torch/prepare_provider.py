"""Builds the torch provider for the torch of the Python that runs this, without CMake, from the sources around this file.

    PYTHON prepare_provider.py --check
    PYTHON prepare_provider.py OUT AGENT

The first only checks whether the second can begin. OUT is an existing folder; it gets libdcmt_torch.so and torch.layout. AGENT is the installed libdcmt_agent.so. Needs g++ 11
or newer (CXX names another compiler) and the headers in torch's own wheel; those of CPython are in `cpython` beside the
sources. A failure is one line on standard error and exit code 1; what the compiler said is in OUT/build.log.

This is what `dc-memtrace doctor --prepare` starts; collector/torch/CMakeLists.txt builds the same.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import importlib.util
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# A compiler needs half a gigabyte, so the memory of a small machine is a limit, too.
JOBS = max(1, min(os.cpu_count() or 1, 8))
FLAGS = ["-std=c++20", "-O2", "-w", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-access-control", "-DNDEBUG"]


class Failed(Exception):
    """Its text is one line for the user."""


def find_torch() -> pathlib.Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise Failed(f"{sys.executable} has no torch")
    folder = pathlib.Path(spec.origin).parent
    if not (folder / "include/c10/core/TensorImpl.h").exists():
        raise Failed(f"this torch came without its headers ({folder / 'include'}): install torch by pip, whose wheels have them")
    return folder


def find_compiler() -> str:
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise Failed(f"there is no C++ compiler ({wanted}): install g++ (Debian, Ubuntu: apt install g++), or name one in CXX")
    return found


def across_files(compiler: str, scratch: pathlib.Path) -> list[str]:
    """The flags for inlining small functions of other files into hooks. None if this compiler lacks the programs for
    that: the provider then works the same but costs a little more.
    """
    source, made = scratch / "across.cpp", scratch / "across.o"
    source.write_text("int answer() { return 42; }\n")
    compiled = [compiler, "-O2", "-fPIC", "-flto", "-c", source, "-o", made]
    linked = [compiler, "-shared", "-O2", "-flto", made, "-o", scratch / "across.so"]
    works = all(subprocess.run(command, capture_output=True).returncode == 0 for command in (compiled, linked))
    return ["-flto"] if works else []


def cuda_headers(torch: pathlib.Path) -> list[pathlib.Path]:
    """The headers from torch or from a toolkit, in the order of cmake/FindCudaHeaders.cmake; none: no CUDA facts."""
    site = torch.parent
    toolkits = [pathlib.Path(os.environ.get(name, "/usr/local/cuda")) / "include" for name in ("CUDA_HOME", "CUDA_PATH")]
    places = [*sorted(site.glob("nvidia/cu*/include")), *toolkits]
    runtime = next((place for place in places if (place / "cuda_runtime_api.h").exists()), None)
    of_compiler = [runtime, *toolkits, site / "triton/backends/nvidia/include"]
    compiler = next((place for place in of_compiler if place and (place / "crt/host_defines.h").exists()), None)
    if runtime is None or compiler is None or not (torch / "include/c10/cuda/CUDACachingAllocator.h").exists():
        return []
    return [runtime, compiler]


def sources(with_cuda: bool) -> list[pathlib.Path]:
    left_out = {"layout_probe.cpp", "allocator_trace_none.cpp" if with_cuda else "allocator_trace.cpp"}
    found = [path for folder in (HERE, ROOT / "collector/elf") for path in folder.rglob("*")
             if path.name.endswith((".cpp", f".{platform.machine()}.S"))]
    # Files that include torch need by far the longest time, so they begin first.
    return sorted((path for path in found if path.name not in left_out), key=lambda path: "<torch/" not in path.read_text())


def end_with_parent() -> None:
    """Stops the build when its parent ends: the parent holds the lock of the output folder."""

    def stop(*_: object) -> None:
        raise Failed("stopped")

    signal.signal(signal.SIGTERM, stop)
    set_signal_of_parents_death = 1
    ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGTERM)


class Build:
    """Runs compilers on several threads."""

    def __init__(self, out: pathlib.Path, scratch: pathlib.Path) -> None:
        self.log = open(out / "build.log", "w")
        self.scratch = scratch
        self.running: set[subprocess.Popen] = set()

    def run(self, *command: object) -> None:
        words = [str(word) for word in command]
        process = subprocess.Popen(words, cwd=self.scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.running.add(process)
        said, _ = process.communicate()
        self.running.discard(process)
        if process.returncode != 0:
            print(*words, said, sep="\n", file=self.log, flush=True)
            raise Failed(f"{pathlib.Path(words[0]).name} failed; what it said is in {self.log.name}")

    def stop(self) -> None:
        """Stops the compilers and their child processes."""
        for process in self.running.copy():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


def prepare(out: pathlib.Path, agent: pathlib.Path) -> None:
    torch = find_torch()
    compiler = find_compiler()
    cuda = cuda_headers(torch)
    includes = [torch / "include", torch / "include/torch/csrc/api/include"]
    cpython = ROOT / "cpython"
    with tempfile.TemporaryDirectory(dir=out) as folder, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        scratch = pathlib.Path(folder)
        build = Build(out, scratch)
        facts = scratch / "collector/torch/facts"
        facts.mkdir(parents=True)
        inline = across_files(compiler, scratch)
        try:
            first = [pool.submit(build.run, sys.executable, HERE / "facts/provider_layout.py", facts / "torch_layout.h", compiler, *includes, cpython),
                     pool.submit(build.run, sys.executable, HERE / "facts/list_namespaces.py", facts / "torch_namespaces.inc")]
            layout = pool.submit(build.run, sys.executable, ROOT / "scripts/layouts/torch_layout.py", torch, cpython, compiler, out / "torch.layout")
            for step in first:
                step.result()
            folders = [word for place in (*includes, *cuda) for word in ("-isystem", place)]
            objects, steps = [], [layout]
            for source in sources(bool(cuda)):
                objects.append(scratch / f"{source.name}.o")
                steps.append(pool.submit(build.run, compiler, *FLAGS, *inline, f"-I{ROOT}", f"-I{scratch}", *folders, "-c", source, "-o", objects[-1]))
            for step in steps:
                step.result()
            parallel = [f"{flag}={JOBS}" for flag in inline]
            build.run(compiler, "-shared", "-O2", *parallel, "-s", "-Wl,--no-undefined,-z,nodelete", "-o", out / "libdcmt_torch.so", *objects, agent,
                      f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu")
        except Failed:
            pool.shutdown(wait=False, cancel_futures=True)
            build.stop()
            raise


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["--check"]:
            find_torch()
            find_compiler()
            sys.exit()
        end_with_parent()
        prepare(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    except Failed as failed:
        sys.exit(str(failed))
