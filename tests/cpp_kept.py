"""Eight programs of C++ that each keep something in two ways, and their healthy twins, in three builds.

Run by scripts/soak. With debug information the holder is named by the program's variable, and what it keeps by the line
that makes it; without, the function and the offset are. At -O2 a variable may be nowhere but in a register: then C++ is
the holder, never another variable. So is a thread's variable, which only a reading of all memory finds. Twins have no
finding. Prints what was found. DCMT_KEPT names the programs (all).
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sysconfig

import pytest
import recorded
import torch

FOLDER = recorded.PROGRAMS / "libtorch" / "kept"
TORCH = pathlib.Path(torch.__file__).parent
BUILDS = {"O0g": ("-O0", "-g"), "O2g": ("-O2", "-g"), "O2": ("-O2",)}
# The holder of each way, and the file that declares it if that is not the program.
HOLDERS = {
    "mlp": ("main: trainer.history", "main: losses"),
    "conv": ("conv: feature_cache", "main: net.one.activations"),
    "lstm": ("main: samples", "train: meter.by_step"),
    "gan": ("main: callbacks", "gan: g_logger.rows"),
    "loader": ("dataset.dataset_.cache.of_index", "main: seen"),
    "function": ("main: totals", "_hooks[0].fn.monitor.gradients"),
    "threads": ("worker: t_outputs", "worker: queue.items_"),
    "embedded": ("embedded: kept_outputs", "main.history"),
}
# Another way to name it: a static by its library's symbols alone, a variable by the function that has it, too.
ALSO = {("threads", 1): ("threads: t_outputs", "thread_local"), ("threads", 2): ("main: queue.items_",), ("gan", 1): ("main: callbacks[*]",),
        ("gan", 2): ("gan: g_logger",)}
NAMES = os.environ.get("DCMT_KEPT", " ".join(HOLDERS)).split()


@pytest.fixture(scope="session", params=BUILDS)
def build(request, tmp_path_factory) -> tuple[str, pathlib.Path]:
    """The folder of the programs of one build."""
    folder = tmp_path_factory.mktemp(request.param)
    flags = ["-std=c++20", "-DNDEBUG", *BUILDS[request.param], f"-I{folder}", "-isystem", TORCH / "include",
             "-isystem", TORCH / "include" / "torch" / "csrc" / "api" / "include"]
    subprocess.run(["c++", *flags, "-x", "c++-header", FOLDER / "kept.h", "-o", folder / "kept.h.gch"], check=True)
    (folder / "kept.h").write_text((FOLDER / "kept.h").read_text())
    for name in NAMES:
        libraries, more = ["-ltorch_cpu", "-lc10"], []
        if name == "embedded":
            place = sysconfig.get_config_var("LIBDIR")
            more = ["-fvisibility=hidden", f"-I{sysconfig.get_path('include')}"]
            libraries = ["-ltorch_python", "-ltorch", *libraries, f"-L{place}", f"-Wl,-rpath,{place}",
                         f"-lpython{sysconfig.get_config_var('LDVERSION')}"]
        subprocess.run(["c++", *flags, *more, "-include", folder / "kept.h", FOLDER / f"{name}.cpp", "-o", folder / name, f"-L{TORCH / 'lib'}",
                        f"-Wl,-rpath,{TORCH / 'lib'}", "-Wl,--allow-shlib-undefined", *libraries], check=True)
    return request.param, folder


def findings(folder: pathlib.Path, program: pathlib.Path, way: int) -> list[dict]:
    environment = recorded.environment(KEPT=str(way), PYTHONPATH=os.pathsep.join([str(TORCH.parent), str(recorded.ROOT / "python")]))
    job = recorded.tool("run", "-o", folder, "--", program, env=environment)
    assert job.returncode == 0, job.stdout + job.stderr
    (report,) = recorded.report(folder)
    return report["findings"]


def made_at(name: str, way: int) -> str:
    """The line that makes what is kept, as a site names it."""
    lines = (FOLDER / f"{name}.cpp").read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if re.search(rf"(//|#) made {way}$", text)]
    if name != "embedded":
        return f"{name}.cpp:{line} "
    return f"<string>:{line - next(number for number, text in enumerate(lines, 1) if 'exec(R' in text) + 1} "


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", [1, 2])
def test_what_is_kept_is_named(tmp_path, build, name, way):
    kind, programs = build
    found = findings(tmp_path / "out", programs / name, way)
    assert found, "no finding"
    growth = found[0]["growth"]
    sites = [site["site"] for site in growth["sites"]]
    print(f"{kind} {name} {way}: {growth['holder'] or '(no holder)'} at {growth['place']}, {growth['seen']} of {growth['storages']} seen; {len(found)} findings; {sites[0]}")
    if kind == "O2" and name != "embedded":
        assert any(re.match(rf"\S*/{name}: .+ \+0x", site) for site in sites), sites
    else:
        assert any(made_at(name, way) in site for site in sites), sites
    wanted = (HOLDERS[name][way - 1], *ALSO.get((name, way), ()))
    is_named = growth["holder"].endswith(wanted)
    if (kind == "O0g" and (name, way) != ("threads", 1)) or name == "embedded":
        assert is_named, growth["holder"]
        declared = growth["place"]  # in torch's headers for what only its own functions have
        assert declared is None or declared.startswith((f"{name}.cpp:", "base.h:")), declared
    else:
        assert is_named or growth["holder"] in ("", "C++"), growth["holder"]


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_twin_has_no_finding(tmp_path, build, name):
    assert findings(tmp_path / "out", build[1] / name, 0) == []
