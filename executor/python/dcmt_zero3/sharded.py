"""Runs a list of units whose parameters live in shards: gathered for a unit's forward and backward, then released."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import torch
from torch import nn
from torch.func import functional_call

from . import ops, peaks
from .shards import ShardedModel, ShardedParameter, shard


@dataclasses.dataclass
class _Unit:
    module: nn.Module  # without data: its parameters are passed as arguments
    parameters: dict[str, ShardedParameter]


class ShardedUnits(ShardedModel):
    """Call it for a forward; call start_backward and end_backward around the backward of its output.

    `graph` is the number of the graph that all units make; the ranks of a process need different numbers.

    A unit keeps its input. For its backward, its weights are gathered again and its forward is computed once more.
    `prefetch` units are gathered ahead, each in one group. Parameters of fewer than `persistent_below` elements stay
    gathered. `offload` keeps inputs of units in host buffers between forward and backward. Weights are gathered in
    `dtype`; their gradients are reduced in the dtype of the shards. Units in `skipped` run outside of the graph, see
    _run_skipped.
    """

    def __init__(
        self,
        graph: int,
        units: Sequence[nn.Module],
        *,
        prefetch: int = 0,
        persistent_below: int = 0,
        offload: bool = False,
        dtype: torch.dtype | None = None,
        skipped: frozenset[int] = frozenset(),
    ):
        self._graph = graph
        self._prefetch = prefetch
        self._offload = offload
        self._dtype = dtype
        self._skipped = skipped
        self._results: list[torch.Tensor] = []
        self._owned: dict[int, int] = {}  # skipped units with gathered weights, and how many gradients each waits for
        self._second_names: list[dict[str, torch.Tensor]] = []
        # With this input, autograd calls the backward of a unit whose other input needs no gradient.
        self._anchor = torch.zeros(0, requires_grad=True)
        ids = itertools.count()
        self._units = [_Unit(unit, shard(unit, ids, persistent_below)) for unit in units]
        super().__init__(one for unit in self._units for one in unit.parameters.values())
        ops.register_graph_z3(self._graph, [one.id for one in self._parameters])

    def ids(self, index: int) -> list[int]:
        """The parameters of a unit."""
        return [one.id for one in self._units[index].parameters.values()]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self._release_leftovers()
        ops.start_forward()
        for index in range(len(self._units)):
            if index in self._skipped:
                x = self._run_skipped(index, x)
            else:
                x = _RunUnit.apply(self._anchor, x, self, index)
        ops.end_forward()
        self._end_pass()
        return x

    def end_backward(self) -> None:
        """Afterwards, all gradients are in the partitions."""
        ops.end_backward(self._results, self._graph, True)
        self._results.clear()
        self._end_pass()

    def need(self) -> peaks.Need:
        """The need without the inputs in host buffers."""
        unit_bytes, stays = [], 0
        for unit in self._units:
            unit_bytes.append(0)
            for one in unit.parameters.values():
                if one.persistent and self._dtype in (None, one.shard.dtype):
                    stays += peaks.gathered_bytes(one)
                else:
                    unit_bytes[-1] += peaks.gathered_bytes(one, self._dtype)
        needed = peaks.of_units(unit_bytes, self._prefetch, self._skipped)
        return peaks.Need(stays + needed, stays + peaks.of_shards(self._parameters))

    # --- one unit ---

    def _gather(self, index: int, ahead: int) -> dict[str, torch.Tensor]:
        """The weights of a unit. Starts to gather those of the next units in the direction `ahead`."""
        parameters = self._units[index].parameters
        weights = {}
        for name, one in parameters.items():
            weights[name] = ops.allgather_param(one.shard, self._graph, one.id, self._dtype)
        for step in range(1, self._prefetch + 1):
            if 0 <= index + step * ahead < len(self._units):
                self._prefetch_unit(index + step * ahead)
        for name, one in parameters.items():
            weights[name] = ops.wait_allgather(weights[name], self._graph, one.id)
        if ops.switch_is_on("wrapper_keeps_aliases"):
            self._second_names.append(dict(weights))
        return weights

    def _prefetch_unit(self, index: int) -> None:
        parameters = self._units[index].parameters.values()
        dtypes = [self._dtype or one.shard.dtype for one in parameters]
        ops.prefetch_params_fused(self._graph, [one.shard for one in parameters], self.ids(index), dtypes)

    def _release(self, index: int, result: torch.Tensor) -> torch.Tensor:
        for id in self.ids(index):
            result = ops.release_param(result, self._graph, id, 1)
        return result

    def _compute(self, index: int, weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return functional_call(self._units[index].module, weights, (x,))

    def _end_pass(self) -> None:
        self._second_names.clear()

    def forward_unit(self, index: int, x: torch.Tensor) -> torch.Tensor:
        weights = self._gather(index, +1)
        return self._release(index, self._compute(index, weights, x))

    def backward_unit(self, index: int, x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor | None:
        weights = self._gather(index, -1)
        inputs = [weight.requires_grad_() for weight in weights.values()]
        x = x.detach()
        if x.is_floating_point():
            inputs.append(x.requires_grad_())
        with torch.enable_grad():
            result = self._compute(index, weights, x)
        gradients = list(torch.autograd.grad(result, inputs, gradient))
        of_x = gradients.pop() if x.is_floating_point() else None
        for id, of_weight in zip(self.ids(index), gradients, strict=True):
            self._results.append(ops.reduce_grad(of_weight, self._graph, id))
        self._release(index, gradient)
        return of_x

    # --- a unit outside of the graph ---

    def _run_skipped(self, index: int, x: torch.Tensor) -> torch.Tensor:
        """Runs a unit under plain autograd, which keeps the weights for its backward.

        The forward that gathers the weights owns them. They are released when the last of their gradients is there,
        after the forward if there is no backward, and at the latest before the next forward.
        """
        weights = self._gather(index, +1)
        self._owned[index] = len(weights)
        if torch.is_grad_enabled():
            for id, weight in zip(self.ids(index), weights.values(), strict=True):
                weight.requires_grad_().register_post_accumulate_grad_hook(
                    functools.partial(self._reduce_gradient, index, id)
                )
        result = self._compute(index, weights, x)
        if not torch.is_grad_enabled() or ops.switch_is_on("early_release_before_backward"):
            self._release_owned(index, result.detach())
        return result

    def _reduce_gradient(self, index: int, id: int, weight: torch.Tensor) -> None:
        self._results.append(ops.reduce_grad(weight.grad, self._graph, id))
        weight.grad = None
        if index in self._owned:
            self._owned[index] -= 1
            if self._owned[index] == 0:
                self._release_owned(index, self._anchor.detach())

    def _release_owned(self, index: int, place: torch.Tensor) -> None:
        del self._owned[index]
        if not ops.switch_is_on("eager_gather_without_owner"):
            self._release(index, place)

    def _release_leftovers(self) -> None:
        for index in tuple(self._owned):
            self._release_owned(index, self._anchor.detach())

    # --- a unit's input, between forward and backward ---

    def keep(self, index: int, x: torch.Tensor) -> torch.Tensor | None:
        """The tensor to save for the input of a unit."""
        if not self._offload:
            return x
        ops.offload_tensor(x, self._graph, index)
        ops.wait_offload(x, self._graph, index)
        return None

    def kept(self, index: int, saved: torch.Tensor | None) -> torch.Tensor:
        if saved is not None:
            return saved
        ops.reload_tensor(self._anchor, self._graph, index)
        return ops.wait_reload(self._anchor, self._graph, index)


class _RunUnit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, anchor: torch.Tensor, x: torch.Tensor, units: ShardedUnits, index: int) -> torch.Tensor:
        ctx.units, ctx.index = units, index
        result = units.forward_unit(index, x)
        ctx.save_for_backward(units.keep(index, x))
        return result

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        (saved,) = ctx.saved_tensors
        x = ctx.units.kept(ctx.index, saved)
        return None, ctx.units.backward_unit(ctx.index, x, gradient.contiguous()), None, None
