"""The inner compiler Inductor: how its generated code handles the operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import fx
from torch._inductor import ir
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch._inductor.lowering import fallbacks, register_lowering
from torch._inductor.virtualized import V

from . import ops
from .graphs import Graphs

OPTIONS = {
    # Gathers and releases must stay where the graph has them.
    "reorder_for_peak_memory": False,
    "reorder_for_locality": False,
    # Graphs have numbers, and switches change the code: results of an earlier run must not be reused.
    "fx_graph_cache": False,
    # Assertions would only make the generated code longer.
    "size_asserts": False,
    "alignment_asserts": False,
    "compile_threads": 1,
}


def compile_graph(
    module: fx.GraphModule, inputs: Sequence[torch.Tensor], graphs: Graphs
) -> Callable[..., Sequence[torch.Tensor]]:
    """Compiles a graph of Dynamo, with the operators inserted."""

    def compile_inner(graph: fx.GraphModule, inner_inputs: Sequence[object], **options):
        if options.get("is_inference"):
            graphs.insert_into_inference(graph)
        return compile_fx_inner(graph, inner_inputs, **options)

    patches = {**OPTIONS, "custom_partitioner_fn": _Partitioner(graphs)}
    return compile_fx(module, inputs, inner_compile=compile_inner, config_patches=patches)


class _Partitioner(CustomPartitionerFn):
    def __init__(self, graphs: Graphs):
        self._graphs = graphs

    def __call__(self, gm: fx.GraphModule, joint_inputs: Sequence[object], **options):
        return self._graphs.partition(gm, joint_inputs, **options)

    def uuid(self) -> None:
        """Returns None: nothing is cached."""


def _lower(op: torch._ops.OpOverload, *arguments: object) -> ir.TensorBox | None:
    """Makes the generated code call the operator unchanged."""
    result = ir.FallbackKernel.create(op, *arguments)
    return result and ir.TensorBox.create(result)


def _lower_gather(op: torch._ops.OpOverload, source: ir.TensorBox, *rest: object) -> ir.TensorBox:
    """The result belongs to the executor: Inductor must not reuse its memory, because a release frees it.

    The generated code deletes the result's name after its last use. With the switch wrapper_keeps_aliases it keeps the
    name until it returns; never_reuse_buffers has this effect.
    """
    gathered = _lower(op, source, *rest)
    if ops.switch_is_on("wrapper_keeps_aliases"):
        V.graph.never_reuse_buffers.add(gathered.get_name())
    elif op is ops.allgather_param.default:
        _delete_without_reuse(gathered)
    return gathered


def _delete_without_reuse(gathered: ir.TensorBox) -> None:
    result = gathered.data.data
    if hasattr(V.graph, "never_reuse_but_free_buffers"):  # from torch 2.15
        V.graph.never_reuse_but_free_buffers.add(result.get_name())
    elif isinstance(result, ir.MultiOutput):
        # Up to torch 2.13, Inductor gives a call's result two names, `buf1 = buf0`. The second is declared an alias of
        # the first here: Inductor deletes an alias but does not reuse it.
        result.get_inputs_that_alias_output = lambda: [result.inputs[0].get_name()]
    else:
        raise NotImplementedError(
            f"Inductor of torch {torch.__version__} has no way to delete a buffer without using it again: run the "
            'executor with inner="eager", or with torch up to 2.13 or from 2.15'
        )


def _register(lower: Callable, *overloads: torch._ops.OpOverload) -> None:
    for op in overloads:
        fallbacks.add(op)
        register_lowering(op, type_promotion_kind=None)(functools.partial(lower, op))


def _keep_through_functionalization(*overloads: torch._ops.OpOverload) -> None:
    """For models that call the operators themselves: operators that return their input need no functionalization."""
    for op in overloads:

        @op.py_functionalize_impl
        def functionalize(ctx, *arguments, op=op):
            return ctx.wrap_tensors(op(*ctx.unwrap_tensors(arguments)))


_keep_through_functionalization(ops.wait_allgather.default, ops.release_param.default)
_register(_lower_gather, ops.allgather_param.default, ops.wait_allgather.default, ops.wait_allgather.undeclared)
_register(
    _lower, ops.release_param.default, ops.release_param.undeclared, ops.reduce_grad.default, ops.end_backward.default
)
