"""CUDA's headers are found if no toolkit is installed: those that come with torch are enough."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
import torch

FIND = pathlib.Path(__file__).resolve().parents[1] / "cmake" / "FindCudaHeaders.cmake"
TORCH = pathlib.Path(torch.__file__).parent
NEEDED = "crt/host_config.h"  #: of CUDA's compiler; an installed toolkit may have put it among the system's headers


def found_without_toolkit(tmp_path: pathlib.Path, torch_folder: pathlib.Path) -> tuple[dict[str, list[str]], str]:
    names = ("DCMT_CUDA_INCLUDE", "DCMT_CUPTI_INCLUDE", "DCMT_CUDA_FACTS")
    script = tmp_path / "print.cmake"
    script.write_text(f"include({FIND})\n" + "".join(f'message(NOTICE "{name}=${{{name}}}")\n' for name in names))
    defined = [f"-DDCMT_TORCH_DIR={torch_folder}", "-DDCMT_CUDA_TOOLKITS="]
    done = subprocess.run(["cmake", *defined, "-P", script], capture_output=True, text=True, check=True)
    answers = dict(line.split("=", 1) for line in done.stderr.splitlines() if line.startswith(names))
    return {name: answer.split(";") for name, answer in answers.items()}, done.stdout


def system_folders() -> list[str]:
    """The default folders of the compiler, except those that contain headers of CUDA."""
    done = subprocess.run(["g++", "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True, check=True)
    listed = done.stderr.split("#include <...> search starts here:\n")[1].split("End of search list.")[0]
    return [folder for folder in listed.split() if not (pathlib.Path(folder) / NEEDED).exists()]


@pytest.mark.skipif(not (TORCH / "include/c10/cuda/CUDACachingAllocator.h").exists(), reason="this torch has no CUDA")
def test_what_comes_with_torch_is_enough(tmp_path):
    found, said = found_without_toolkit(tmp_path, TORCH)
    assert found["DCMT_CUDA_FACTS"] == ["ON"] and said == ""
    folders = [*system_folders(), str(TORCH / "include"), *found["DCMT_CUPTI_INCLUDE"]]
    command = ["g++", "-xc++", "-std=c++20", "-fsyntax-only", "-nostdinc", "-nostdinc++", "-"]
    command += [f"-isystem{folder}" for folder in folders]
    program = "#include <c10/cuda/CUDACachingAllocator.h>\n#include <cuda.h>\n#include <cupti.h>\n"
    done = subprocess.run(command, input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_the_compilers_headers_the_build_says_what_will_be_missing(tmp_path):
    wheel = "nvidia/cu13/include"
    for header in ("torch/include/c10/cuda/CUDACachingAllocator.h", f"{wheel}/cuda_runtime_api.h", f"{wheel}/cupti.h"):
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).touch()
    found, said = found_without_toolkit(tmp_path, tmp_path / "torch")
    assert found == {"DCMT_CUDA_INCLUDE": [""], "DCMT_CUPTI_INCLUDE": [""], "DCMT_CUDA_FACTS": ["OFF"]}
    assert "streams and reserved bytes will not be seen" in said and "kernels will not be seen" in said
