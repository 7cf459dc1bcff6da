"""Teaches torch.compile's Inductor the operators of this sample."""

from __future__ import annotations

import torch
from torch._inductor import ir
from torch._inductor.lowering import fallbacks, register_lowering
from torch._inductor.virtualized import V

import operators


def register_fallback(op: torch._ops.OpOverload, *, never_reuse_output: bool) -> None:
    """Lets the generated wrapper call `op` as it is.

    never_reuse_output keeps Inductor from handing the output's memory to another buffer. Up to torch 2.14 that also
    means that the wrapper never deletes its name before it returns.
    """
    fallbacks.add(op)

    @register_lowering(op, type_promotion_kind=None)
    def lower(*args, **kwargs):
        output = ir.TensorBox.create(ir.FallbackKernel.create(op, *args, **kwargs))
        if never_reuse_output:
            V.graph.never_reuse_buffers.add(output.get_name())
        return output


def keep_through_functionalization(op: torch._ops.OpOverload) -> None:
    """Passes an operator that returns its input through functionalization as it is: it mutates nothing."""

    @op.py_functionalize_impl
    def functionalize(ctx, *args):
        return ctx.wrap_tensors(op(*ctx.unwrap_tensors(args)))


def register_operators() -> None:
    """Call once, before the first compilation."""
    register_fallback(operators.allgather_param, never_reuse_output=True)
    register_fallback(operators.wait_allgather, never_reuse_output=True)
    register_fallback(operators.release_param, never_reuse_output=False)
    keep_through_functionalization(operators.wait_allgather)
    keep_through_functionalization(operators.release_param)


# Keeps the order of the model: both reorderings would move each gather behind the layer that it should overlap. The
# asserts would only make the generated wrapper longer to read.
OPTIONS = {
    "reorder_for_peak_memory": False,
    "reorder_for_locality": False,
    "size_asserts": False,
    "alignment_asserts": False,
    "compile_threads": 1,
}
