"""Runs any module as two FX graphs, forward and backward; a pass inserts the operators."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Sequence

import torch
from torch import fx, nn
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.fx.experimental.proxy_tensor import make_fx

from . import graph_pass, ops, peaks
from .buffer_reuse import reuse_buffers
from .shards import ShardedModel, shard


@dataclasses.dataclass
class Traced:
    """A module's forward and backward as graphs whose inputs are full weights. Any number of ranks may use one."""

    forward: fx.GraphModule
    backward: fx.GraphModule


def trace(module: nn.Module, example: Sequence[torch.Tensor]) -> Traced:
    """Traces with inputs of the shapes of `example`, without data. Inputs have no gradient, the module one output."""
    if any(True for _ in module.buffers()):
        raise NotImplementedError("a module with buffers")
    parameters = dict(module.named_parameters())

    def run(primals: list[torch.Tensor], tangents: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        weights = primals[: len(parameters)]
        result = functional_call(module, dict(zip(parameters, weights, strict=True)), tuple(primals[len(parameters) :]))
        return result, *torch.autograd.grad(result, weights, tangents)

    with FakeTensorMode():
        weights = [torch.empty(one.shape, dtype=one.dtype, device=one.device) for one in parameters.values()]
        inputs = [torch.empty(one.shape, dtype=one.dtype, device=one.device) for one in example]
        with torch.no_grad():
            result = functional_call(module, dict(zip(parameters, weights, strict=True)), tuple(inputs))
        primals = [weight.requires_grad_() for weight in weights] + inputs
        tangents = [torch.empty_like(result)]
        # The partitioner finds the inputs by these names of the arguments: primals_1, tangents_1.
        joint = make_fx(run)(primals, tangents)
    return Traced(*min_cut_rematerialization_partition(joint, [*primals, *tangents], num_fwd_outputs=1))


class CompiledModel(ShardedModel):
    """Call it for a forward; call start_backward and end_backward around the backward of its output.

    The graphs run as the Python code that FX writes. With `reuse`, results go into buffers that are dead by the
    schemas.
    """

    def __init__(
        self, graph: int, module: nn.Module, traced: Traced, *, persistent_below: int = 0, reuse: bool = False
    ):
        super().__init__(shard(module, itertools.count(), persistent_below).values())
        ids = [one.id for one in self._parameters]
        ops.register_graph_z3(graph, ids)
        self._anchor = torch.zeros(0, requires_grad=True)
        self.forward_graph, self.backward_graph = copy.deepcopy(traced.forward), copy.deepcopy(traced.backward)
        placeholders = self.forward_graph.graph.find_nodes(op="placeholder")
        graph_pass.insert_operators(
            graph,
            self.forward_graph.graph,
            self.backward_graph.graph,
            id_of=dict(zip(placeholders, ids)),  # the inputs follow
            outputs=1,
            id_at=dict(enumerate(ids)),
        )
        for one in (self.forward_graph, self.backward_graph):
            if reuse:
                reuse_buffers(one.graph)
            one.graph.lint()
            one.recompile()

    def need(self) -> peaks.Need:
        graphs = (self.forward_graph.graph, self.backward_graph.graph)
        return peaks.of_graphs(self._parameters, max(peaks.of_graph(one, self._parameters) for one in graphs))

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        ops.start_forward()
        result = _RunGraphs.apply(self._anchor, self, *inputs)
        ops.end_forward()
        return result

    def end_backward(self) -> None:
        """The graph has ended the backward already: all gradients are in the partitions."""


class _RunGraphs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, anchor: torch.Tensor, model: CompiledModel, *inputs: torch.Tensor) -> torch.Tensor:
        result, *saved = run(model.forward_graph, [*model.shards(), *inputs])
        ctx.model = model
        ctx.inputs = len(inputs)
        ctx.save_for_backward(*saved)
        return result

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        run(ctx.model.backward_graph, [*ctx.saved_tensors, gradient])
        return None, None, *[None] * ctx.inputs


def run(graph: fx.GraphModule, arguments: list[torch.Tensor]) -> tuple:
    """Runs the graph as the Python code that FX writes."""
    if ops.switch_is_on("wrapper_keeps_aliases"):
        return fx.Interpreter(graph, garbage_collect_values=False).run(*arguments)
    return graph(*arguments)
