"""A backend of torch.compile that inserts the operators into the graphs of a module whose parameters are in shards.

    parameters = shard_in_place(module, ids)
    compiled = torch.compile(module, backend=Backend(module, parameters, numbers, inner="inductor"))

Dynamo captures a graph, AOTAutograd makes a forward and a backward of it, `graph_pass` inserts the operators, and the
inner compiler gets the results. A graph break makes several graphs, each with its own number. `eager` handles code
outside of graphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import fx, nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import ChainedSource, LocalSource, NNModuleSource, Source
from torch._functorch import config as functorch_config

from . import compiled, eager, inductor, ops, peaks
from .graphs import Graphs
from .shards import ShardedModel, ShardedParameter, shard_in_place

INNER = ("eager", "inductor")


class Backend:
    """`numbers` yields numbers of graphs; no other graph of the process may have them.

    The inner compiler "eager" runs the Python code that FX writes. With `reuse`, it writes results into buffers that
    are dead by the schemas. "inductor" generates code. The switches undeclared_alias and, under Inductor,
    wrapper_keeps_aliases are read when a graph is compiled.
    """

    def __init__(
        self,
        module: nn.Module,
        parameters: dict[str, ShardedParameter],
        numbers: Iterator[int],
        *,
        inner: str = "eager",
        reuse: bool = False,
    ):
        if inner not in INNER or (reuse and inner != "eager"):
            raise ValueError(f"the inner compiler {inner!r}, reuse {reuse}")
        self._sharded = {module.get_parameter(name): one for name, one in parameters.items()}
        self._numbers = numbers
        self._inner = inner
        self._reuse = reuse
        self.graphs: list[Graphs] = []

    def __call__(self, module: fx.GraphModule, inputs: Sequence[torch.Tensor]) -> Callable[..., Sequence[torch.Tensor]]:
        weights = {}
        for index, (node, value) in enumerate(zip(module.graph.find_nodes(op="placeholder"), inputs, strict=True)):
            if isinstance(value, nn.Parameter) and value in self._sharded:
                weights[index] = self._sharded[value]
                _install_guards(node.meta["grapharg"].source)
        if any(one in self._sharded for one in module.parameters()):
            raise NotImplementedError("a parameter that is a constant of the graph")
        if ops.switch_is_on("undeclared_alias"):
            # At a graph's first run, torch checks whether operators have undeclared aliases, and raises an error if the
            # environment has CI set. The planted defect could not run then.
            functorch_config.error_on_custom_op_aliasing = False
        graphs = Graphs(next(self._numbers) if weights else None, weights, self._reuse)
        self.graphs.append(graphs)
        if self._inner == "inductor":
            return inductor.compile_graph(module, inputs, graphs)
        return aot_autograd(
            fw_compiler=graphs.compile, inference_compiler=graphs.compile_inference, partition_fn=graphs.partition
        )(module, inputs)


def _install_guards(source: Source) -> None:
    """Guards the parameter's identity: the ids are constants of the graph, which must not be used for other parameters.

    The module that has the parameter is guarded, too. Dynamo's limit of recompilations then applies to each such
    module. Without this guard, models and layers with the same code, such as those of simulated ranks, would share one
    limit.
    """
    install_guard(source.make_guard(GuardBuilder.ID_MATCH))
    while isinstance(source, ChainedSource):
        if isinstance(source, NNModuleSource) and isinstance(source.base, LocalSource):
            install_guard(source.base.make_guard(GuardBuilder.ID_MATCH))
        source = source.base


class DynamoModel(ShardedModel):
    """A module under torch.compile. Call it for a forward; call start_backward and end_backward around its backward."""

    def __init__(
        self,
        numbers: Iterator[int],
        module: nn.Module,
        *,
        inner: str = "eager",
        persistent_below: int = 0,
        reuse: bool = False,
    ):
        parameters = shard_in_place(module, itertools.count(), persistent_below)
        super().__init__(parameters.values())
        self.backend = Backend(module, parameters, numbers, inner=inner, reuse=reuse)
        self._eager = eager.EagerGathers(module, parameters, numbers)
        self._module = torch.compile(module, backend=self.backend, dynamic=False)

    def need(self) -> peaks.Need:
        """The need of the graphs compiled so far. Gathers outside of the graphs are not included."""
        return peaks.of_graphs(self._parameters, max((one.needed for one in self.backend.graphs), default=0))

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        self._eager.start_forward()
        ops.start_forward()
        result = self._module(*inputs)
        ops.end_forward()
        self._eager.end_forward()
        return result

    def end_backward(self) -> None:
        """Afterwards, all gradients are in the partitions."""
        self._eager.end_backward()
