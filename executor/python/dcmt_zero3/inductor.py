"""The inner compiler Inductor: what its generated code knows of the operators."""

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
    # Weights are gathered and released where the graph says.
    "reorder_for_peak_memory": False,
    "reorder_for_locality": False,
    # Graphs have numbers, and switches change the code: nothing is to be taken from an earlier run.
    "fx_graph_cache": False,
    # They would only make the generated code longer to read.
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
        """Nothing is cached."""


def _lower(op: torch._ops.OpOverload, *arguments: object) -> ir.TensorBox | None:
    """The generated code calls the operator as it is."""
    result = ir.FallbackKernel.create(op, *arguments)
    return result and ir.TensorBox.create(result)


def _lower_gather(op: torch._ops.OpOverload, source: ir.TensorBox, *rest: object) -> ir.TensorBox:
    """What is handed out belongs to the executor: no other result may have its memory, which the release takes.

    Its name is deleted after the last use; with the switch wrapper_keeps_aliases not before the code returns, which is
    what never_reuse_buffers means.
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
        # Up to torch 2.13 Inductor makes two names of a call's result, `buf1 = buf0`. The second becomes an alias of
        # the first: an alias is deleted and not reused.
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
    """For models that call the operators themselves: those that return their input change nothing."""
    for op in overloads:

        @op.py_functionalize_impl
        def functionalize(ctx, *arguments, op=op):
            return ctx.wrap_tensors(op(*ctx.unwrap_tensors(arguments)))


_keep_through_functionalization(ops.wait_allgather.default, ops.release_param.default)
_register(_lower_gather, ops.allgather_param.default, ops.wait_allgather.default, ops.wait_allgather.undeclared)
_register(
    _lower, ops.release_param.default, ops.release_param.undeclared, ops.reduce_grad.default, ops.end_backward.default
)
