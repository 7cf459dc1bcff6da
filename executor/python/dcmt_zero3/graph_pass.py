"""Inserts gathers, waits, releases and reductions into the FX graphs of a forward and its backward."""

from __future__ import annotations

import dataclasses
import operator

import torch
from torch import fx

from . import ops

# An alias of its input, though its schema says that it is not.
_UNDECLARED_VIEWS = {torch.ops.aten._unsafe_view.default}


@dataclasses.dataclass
class Weight:
    """A parameter where a graph takes it in: the placeholder is a shard, the uses want the full weight."""

    id: int
    placeholder: fx.Node


def insert_cycles(graph: fx.Graph, number: int, weights: list[Weight]) -> None:
    """Gathers each weight before its first use and releases it after each of its uses.

    A use through views is one use. The release stands on the use's output, or on one element of it.
    """
    for weight in weights:
        users = [user for user in weight.placeholder.users if user.op != "output"]
        if not users:
            continue
        with graph.inserting_before(next(node for node in graph.nodes if node in users)):
            gathered = graph.call_function(ops.allgather_param.default, (weight.placeholder, number, weight.id))
            full = graph.call_function(_declared(ops.wait_allgather), (gathered, number, weight.id))
        weight.placeholder.replace_all_uses_with(full, delete_user_cb=lambda user: user in users)
        uses = _real_uses(full)
        for use in uses:
            _insert_release(graph, number, weight.id, use, len(uses))


def insert_reductions(graph: fx.Graph, number: int, gradients: dict[int, fx.Node]) -> None:
    """Reduces each parameter's gradient, which the graph returns no longer, and ends the backward after all of them."""
    output = graph.output_node()
    results = []
    for id, gradient in gradients.items():
        with graph.inserting_after(gradient):
            results.append(graph.call_function(ops.reduce_grad.default, (gradient, number, id)))
    with graph.inserting_before(output):
        graph.call_function(ops.end_backward.default, (results, number, True))
    reduced = set(gradients.values())
    output.args = (tuple(None if value in reduced else value for value in output.args[0]),)


def views_from(node: fx.Node) -> tuple[fx.Node, list[fx.Node]]:
    """The node of which this one is a view, and the views between them, the first one first."""
    chain = []
    while is_view(node) and isinstance(node.args[0], fx.Node):
        chain.insert(0, node)
        node = node.args[0]
    return node, chain


def is_view(node: fx.Node) -> bool:
    """As far as the operator's schema tells."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return is_view(node.args[0])
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    returned = node.target._schema.returns
    declared = len(returned) > 0 and returned[0].alias_info is not None and not returned[0].alias_info.is_write
    return declared or node.target in _UNDECLARED_VIEWS


def _real_uses(weight: fx.Node) -> list[fx.Node]:
    uses: dict[fx.Node, None] = {}
    waiting = [weight]
    while waiting:
        for user in waiting.pop().users:
            if user.op == "output":
                raise NotImplementedError(f"the graph returns a view of a parameter: {weight}")
            if is_view(user):
                waiting.append(user)
            else:
                uses[user] = None
    return list(uses)


def _insert_release(graph: fx.Graph, number: int, id: int, use: fx.Node, users: int) -> None:
    elements = [user for user in use.users if user.target is operator.getitem]
    place = elements[0] if elements else use
    with graph.inserting_after(place):
        released = graph.call_function(_declared(ops.release_param), (place, number, id, users))
    place.replace_all_uses_with(released, delete_user_cb=lambda user: user is not released)


def _declared(operator: torch._ops.OpOverloadPacket) -> torch._ops.OpOverload:
    """Its schema says that the result is the first argument, unless the defect is on."""
    return operator.undeclared if ops.switch_is_on("undeclared_alias") else operator.default
