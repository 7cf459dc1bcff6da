"""Installs DeepSpeed from wheels, each variant into a folder of its own, and builds its compiled operators.

    python variants.py WHEELS FOLDER VARIANT...

WHEELS has deepspeed-VERSION-py3-none-any.whl of each version, and what it depends on. A variant is a version as it was
published, or one with a change of a few lines:

    0.19.1            the final release empties the registered tensor, its storage keeps the bytes
    0.19.1-logged     also appends a line for each final release to $DC_RELEASE_LOG.$RANK: id, other references, bytes
    0.19.2            the final release resizes the storage to 0
    0.19.2-unresized  without the lines that do so
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

LOGGED = (
    "                const auto options = gathered_param.options();\n",
    """                if (const char* path = std::getenv("DC_RELEASE_LOG")) {
                    if (std::FILE* log = std::fopen((std::string(path) + "." + std::getenv("RANK")).c_str(), "a")) {
                        std::fprintf(log, "%ld %ld %ld\\n", ds_id, (long)gathered_param.storage().use_count() - 1,
                                     (long)gathered_param.storage().nbytes());
                        std::fclose(log);
                    }
                }
""",
)
RESIZED = "                if (storage.nbytes() > 0) {\n"


def log_releases(source: str) -> str:
    before, place, after = source.partition(LOGGED[0])
    assert place, "the release is not where it was"
    return "#include <cstdio>\n#include <cstdlib>\n" + before + LOGGED[1] + place + after


def leave_sizes(source: str) -> str:
    assert source.count(RESIZED) == 1, "the resize is not where it was"
    return source.replace(RESIZED, "                if (false) {\n")


CHANGES = {"logged": log_releases, "unresized": leave_sizes}


def environment(folder: pathlib.Path, variant: str) -> dict[str, str]:
    """What a program needs to run with the variant."""
    import nvidia.nccl
    import torch

    site = folder / variant
    paths = filter(None, [str(site), os.environ.get("PYTHONPATH", "")])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TORCH_EXTENSIONS_DIR": str(folder / f"{variant}-operators"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / f"{variant}-inductor"),
        "CPATH": str(pathlib.Path(list(nvidia.nccl.__path__)[0]) / "include"),
        "TORCH_CUDA_ARCH_LIST": "{}.{}".format(*torch.cuda.get_device_capability()),
        "DS_SKIP_CUDA_CHECK": "1",
    }


def prepare(wheels: pathlib.Path, folder: pathlib.Path, variants: list[str]) -> None:
    """Installs and builds all of them, side by side."""
    builds = []
    for variant in variants:
        version, _, change = variant.partition("-")
        site = folder / variant
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site)]
        others = [str(wheel) for wheel in wheels.glob("*.whl") if not wheel.name.startswith("deepspeed-")]
        subprocess.run([*install, *others, str(wheels / f"deepspeed-{version}-py3-none-any.whl")], check=True)
        if change:
            source = site / "deepspeed" / "ops" / "csrc" / "compile" / "z3.cpp"
            source.write_text(CHANGES[change](source.read_text()))
        build = "from deepspeed.compile.util import get_deepcompile_handle as build; build()"
        with open(folder / f"{variant}-build.log", "w") as log:
            builds.append(
                subprocess.Popen(
                    [sys.executable, "-c", build],
                    env={**environment(folder, variant), "LOCAL_RANK": "0"},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
    failed = [variant for variant, process in zip(variants, builds) if process.wait() != 0]
    if failed:
        log = (folder / f"{failed[0]}-build.log").read_text()
        raise RuntimeError(f"not built: {', '.join(failed)}. Of the first one's log, the end:\n{log[-2000:]}")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    prepare(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:])
