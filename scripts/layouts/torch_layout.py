"""Writes where one build of torch keeps what a census reads: offsets of the fixed classes, and for each autograd node its
saved tensors. Facts come from torch's headers, private members included, through one compilation to assembly; nothing of
torch is linked or run.

    python torch_layout.py TORCH_FOLDER PYTHON_INCLUDE COMPILER OUT
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

AUTOGRAD = "torch::autograd::"
# Class: its members, and whether its size is needed.
FIXED = {
    "c10::TensorImpl": ("storage_", "autograd_meta_", "pyobj_slot_", "numel_"),
    "c10::StorageImpl": ("data_ptr_", "size_bytes_", "pyobj_slot_"),
    "c10::impl::PyObjectSlot": (),
    AUTOGRAD + "AutogradMeta": ("grad_", "grad_fn_", "hooks_"),
    AUTOGRAD + "DifferentiableViewMeta": ("backward_info_", "forward_info_"),
    AUTOGRAD + "Edge": ("function",),
    AUTOGRAD + "Node": ("next_edges_", "pyobj_", "pre_hooks_", "tensor_pre_hooks_", "post_hooks_"),
    AUTOGRAD + "SavedVariable": ("data_", "hooks_", "grad_fn_", "grad_accumulator_"),
    AUTOGRAD + "AccumulateGrad": ("variable",),
    AUTOGRAD + "CopySlices": ("fn",),
    AUTOGRAD + "PyNode": ("obj",),
    AUTOGRAD + "PySavedVariableHooks": ("unpack_hook_", "data_"),
    AUTOGRAD + "PyFunctionTensorPreHook": ("dict",),
    "THPVariable": ("cdata", "backward_hooks", "post_accumulate_grad_hooks"),
    "THPFunction": ("to_save", "non_differentiable", "dirty_tensors", "saved_variables", "saved_for_forward"),
}
HEADERS = ("generated/Functions.h", "functions/accumulate_grad.h", "functions/tensor.h", "python_function.h", "python_hook.h",
           "python_saved_variable_hooks.h", "python_variable.h")


def saved_members(functions: str) -> dict[str, list[tuple[str, str]]]:
    """Class of a generated node: its members of saved tensors, as (type, name)."""
    nodes = {}
    for match in re.finditer(r"struct TORCH_API (\w+) : public \w+ \{(.*?)^\};", functions, re.MULTILINE | re.DOTALL):
        body = re.sub(r"\{[^{}]*\}", ";", match[2])
        members = re.findall(r"^  (SavedVariable|std::vector<SavedVariable>)\s+(\w+);", body, re.MULTILINE)
        nodes[match[1]] = [("vector" if kind.startswith("std") else "one", name) for kind, name in members]
    return nodes


def offsets(expressions: list[str], include: list[str], compiler: str) -> list[int]:
    """The values of constant expressions over torch's headers, from the assembly of one source file."""
    lines = [f"#include <torch/csrc/autograd/{header}>" for header in HEADERS] + ['extern "C" {']
    lines += [f"extern const unsigned long dcmt_{i}; const unsigned long dcmt_{i} = {text};" for i, text in enumerate(expressions)]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.cpp"
        source.write_text("\n".join([*lines, "}"]))
        subprocess.run([compiler, "-std=c++20", "-w", "-O0", "-g0", "-fno-access-control", "-DNDEBUG", "-S", "-o", source.with_suffix(".s"),
                        source, *(f"-I{path}" for path in include)], check=True)
        assembly = source.with_suffix(".s").read_text()
    values = {int(k): int(v) for k, v in re.findall(r"^dcmt_(\d+):\n\s+\.(?:quad|xword)\s+(\d+)", assembly, re.MULTILINE)}
    values |= {int(k): 0 for k in re.findall(r"^dcmt_(\d+):\n\s+\.zero", assembly, re.MULTILINE)}
    return [values[i] for i in range(len(expressions))]


def main() -> None:
    torch, python_include, compiler, out = sys.argv[1:5]
    include = pathlib.Path(torch) / "include"
    version = re.search(r"__version__ = '([^']+)'", (pathlib.Path(torch) / "version.py").read_text())[1]
    fixed = dict(FIXED)
    node_header = include / "torch/csrc/autograd/function.h"
    alternative = include / "torch/csrc/autograd/node.h"
    text = "".join(path.read_text() for path in (node_header, alternative) if path.exists())
    if "pyobj_slot_" in text:  # from 2.13 on, a node and its Python object own each other, like a tensor and its object
        fixed[AUTOGRAD + "Node"] = tuple("pyobj_slot_" if name == "pyobj_" else name for name in fixed[AUTOGRAD + "Node"])
        fixed[AUTOGRAD + "PyNode"] = ()
    names, expressions = [], []
    for full, members in fixed.items():
        short = full.rsplit("::", 1)[-1]
        names.append(f"{short}.sizeof")
        expressions.append(f"sizeof({full})")
        for member in members:
            names.append(f"{short}.{member}")
            expressions.append(f"__builtin_offsetof({full}, {member})")
    for node, members in saved_members((include / "torch/csrc/autograd/generated/Functions.h").read_text()).items():
        names.append(f"node {node}")
        expressions.append("0")
        for kind, member in members:
            names.append(f"saved {node} {member} {kind}")
            expressions.append(f"__builtin_offsetof({AUTOGRAD}generated::{node}, {member})")
    paths = [str(include), str(include / "torch/csrc/api/include"), python_include]
    values = offsets(expressions, paths, compiler)
    lines = [f"version {version.split('+')[0]}"]
    lines += [name if name.startswith("node ") else f"{name} {value}" for name, value in zip(names, values)]
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
