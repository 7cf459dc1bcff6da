"""Gathers parameters that are read outside of graphs: in frames that Dynamo skips."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch._dynamo.eval_frame import skip_code
from torch._guards import CompileContext

from . import ops
from .shards import ShardedParameter


class EagerGathers:
    """Owns the parameters that it gathers: it releases a parameter when its gradient is there, after the forward if
    there is no backward, and at the latest before the next forward.

    A read of a parameter as an attribute of its module, in a forward, gathers it. Only while it is gathered does the
    parameter have the gathered weight's bytes.
    """

    def __init__(self, module: nn.Module, parameters: dict[str, ShardedParameter], numbers: Iterator[int]):
        self._sharded = {module.get_parameter(name): one for name, one in parameters.items()}
        self._numbers = numbers
        self._number: int | None = None
        self._owned: dict[nn.Parameter, torch.utils.hooks.RemovableHandle] = {}
        self._results: list[torch.Tensor] = []
        self._in_forward = False
        for one in module.modules():
            own = {name: self._property(name) for name, of in one.named_parameters(recurse=False) if of in self._sharded}
            if own:
                one.__class__ = type(type(one).__name__, (type(one),), own)

    def start_forward(self) -> None:
        self._release_all()
        self._in_forward = True

    def end_forward(self) -> None:
        self._in_forward = False
        if not torch.is_grad_enabled():
            self._release_all()

    def end_backward(self) -> None:
        if self._number is not None:
            ops.end_backward(self._results, self._number, True)
            self._results.clear()

    def _property(self, name: str) -> property:
        def get(module: nn.Module) -> nn.Parameter:
            parameter = module._parameters[name]
            if not torch.compiler.is_compiling() and self._in_forward:
                self._gather(parameter)
            return parameter

        # Dynamo inlines this function into its graphs. It must not compile the function alone where it runs outside of
        # them.
        skip_code(get.__code__)
        return property(get)

    @torch.compiler.disable
    def _gather(self, parameter: nn.Parameter) -> None:
        # Do not gather when Dynamo itself reads the parameter to make guards: only one rank does, and it holds a lock.
        if parameter in self._owned or CompileContext.current_compile_id() is not None:
            return
        if self._number is None:
            self._number = next(self._numbers)
            ops.register_graph_z3(self._number, [one.id for one in self._sharded.values()])
        one = self._sharded[parameter]
        gathered = ops.allgather_param(one.shard, self._number, one.id)
        parameter.data = ops.wait_allgather(gathered, self._number, one.id)
        self._owned[parameter] = parameter.register_post_accumulate_grad_hook(self._reduce)

    def _reduce(self, parameter: nn.Parameter) -> None:
        if parameter.grad is not None:  # otherwise the only gradient came from a graph
            self._results.append(ops.reduce_grad(parameter.grad, self._number, self._sharded[parameter].id))
            parameter.grad = None
        self._release(parameter)

    def _release_all(self) -> None:
        for parameter in tuple(self._owned):
            self._release(parameter)

    def _release(self, parameter: nn.Parameter) -> None:
        if ops.switch_is_on("eager_gather_without_owner"):
            return
        self._owned.pop(parameter).remove()
        one = self._sharded[parameter]
        if ops.gathered_buffers(one.id):  # otherwise a graph that also uses the parameter has released it
            ops.release_param(one.shard, self._number, one.id, 1)
        ops.free_bytes(parameter, one.id)
