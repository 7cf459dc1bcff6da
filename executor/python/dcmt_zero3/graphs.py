"""Processes one graph of Dynamo: inserts operators around its weights, then compiles it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import GradAOTOutput, PlainAOTInput
from torch._functorch.partitioners import min_cut_rematerialization_partition

from . import compiled, graph_pass, ops, peaks
from .buffer_reuse import reuse_buffers
from .shards import ShardedParameter


class Graphs:
    """One graph of Dynamo: a forward and a backward, or a forward alone."""

    def __init__(self, number: int | None, weights: dict[int, ShardedParameter], reuse: bool):
        self._number = number
        self._weights = weights  # by the index of the graph's input
        self._reuse = reuse
        self.needed = 0  # the highest sum of gathered bytes, without parameters that stay gathered
        if number is not None:
            ops.register_graph_z3(number, [one.id for one in weights.values()])

    def partition(
        self, joint: fx.GraphModule, inputs: Sequence[object], *, num_fwd_outputs: int, **options
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        """The partition function for AOTAutograd; it also inserts the operators into both graphs."""
        gradients = joint.graph.output_node().meta["desc"][num_fwd_outputs:]
        forward, backward = min_cut_rematerialization_partition(
            joint, inputs, num_fwd_outputs=num_fwd_outputs, **options
        )
        if self._number is not None:
            id_at = {
                index: self._weights[of.grad_of.idx].id
                for index, of in enumerate(gradients)
                if isinstance(of, GradAOTOutput) and of.grad_of.idx in self._weights
            }
            graph_pass.insert_operators(
                self._number, forward.graph, backward.graph, self._id_of(forward), num_fwd_outputs, id_at
            )
            self._finish(forward, backward)
        return forward, backward

    def insert_into_inference(self, forward: fx.GraphModule) -> None:
        if self._number is not None:
            weights = [graph_pass.Weight(id, node) for node, id in self._id_of(forward).items()]
            graph_pass.insert_cycles(forward.graph, self._number, weights)
            self._finish(forward)

    def compile(self, graph: fx.GraphModule, _: Sequence[object]) -> Callable[[list], Sequence[torch.Tensor]]:
        """The inner compiler "eager"."""
        if self._reuse:
            reuse_buffers(graph.graph)
            graph.recompile()

        def run(arguments: list) -> Sequence[torch.Tensor]:
            return compiled.run(graph, arguments)

        run._boxed_call = True  # its arguments are passed as one list
        return run

    def compile_inference(self, graph: fx.GraphModule, inputs: Sequence[object]):
        self.insert_into_inference(graph)
        return self.compile(graph, inputs)

    def _id_of(self, forward: fx.GraphModule) -> dict[fx.Node, int]:
        id_of = {}
        for node in forward.graph.find_nodes(op="placeholder"):
            of = node.meta.get("desc")
            if isinstance(of, PlainAOTInput) and of.idx in self._weights:
                id_of[node] = self._weights[of.idx].id
        return id_of

    def _finish(self, *modules: fx.GraphModule) -> None:
        for one in modules:
            one.graph.lint()
            one.recompile()
            self.needed = max(self.needed, peaks.of_graph(one.graph, self._weights.values()))
