"""Inserts gathers, waits, releases and reductions into the FX graphs of a forward and its backward."""

from __future__ import annotations

import dataclasses
import operator

import torch
from torch import fx
from torch.fx.node import has_side_effect

from . import ops

# Its result is an alias of its input, though its schema does not declare that.
_UNDECLARED_VIEWS = {torch.ops.aten._unsafe_view.default}


# Without a result, the operator would be removed as dead code.
has_side_effect(ops.end_backward.default)


@dataclasses.dataclass
class Weight:
    """A parameter that is an input of a graph: the uses of the placeholder need the full weight."""

    id: int
    placeholder: fx.Node


def insert_operators(
    number: int, forward: fx.Graph, backward: fx.Graph, id_of: dict[fx.Node, int], outputs: int, id_at: dict[int, int]
) -> None:
    """Inserts the operators into a forward and its backward whose parameters are full weights.

    `id_of` maps placeholders of the forward to parameters, `id_at` the positions of their gradients in the backward's
    result. The forward returns `outputs` results of the program, then what it saves for the backward.
    """
    backward_weights = _gather_again(forward, backward, id_of, outputs)
    forward.eliminate_dead_code()
    insert_cycles(forward, number, [Weight(id, node) for node, id in id_of.items()])
    insert_cycles(backward, number, backward_weights)
    _insert_reductions(backward, number, id_at)


def insert_cycles(graph: fx.Graph, number: int, weights: list[Weight]) -> None:
    """Gathers each weight before its first use, and releases it after each of its uses.

    A use through views is one use. The release uses the use's output as its argument, or one element of it.
    """
    for weight in weights:
        users = [user for user in weight.placeholder.users if user.op != "output"]
        if not users:
            continue
        first = next(node for node in graph.nodes if node in users)
        with graph.inserting_before(first):
            gathered = _call(graph, first, ops.allgather_param.default, weight.placeholder, number, weight.id)
            full = _call(graph, first, _declared(ops.wait_allgather), gathered, number, weight.id)
        weight.placeholder.replace_all_uses_with(full, delete_user_cb=lambda user: user in users)
        uses = _real_uses(full)
        for use in uses:
            _insert_release(graph, number, weight.id, use, len(uses))


def _insert_reductions(graph: fx.Graph, number: int, id_at: dict[int, int]) -> None:
    """Reduces the gradients, which the graph no longer returns, and ends the backward after the reductions."""
    output = graph.output_node()
    returned = list(output.args[0])
    results = []
    for index, id in id_at.items():
        gradient = returned[index]
        if gradient is None:
            continue
        with graph.inserting_before(_place_after(gradient)):
            results.append(graph.call_function(ops.reduce_grad.default, (gradient, number, id)))
            results[-1].meta["val"] = gradient.meta["val"].new_empty(0)
        returned[index] = None
    with graph.inserting_before(output):
        graph.call_function(ops.end_backward.default, (results, number, True)).meta["val"] = None
    output.args = (tuple(returned),)


def _place_after(node: fx.Node) -> fx.Node:
    """The node before which to insert what comes after `node`; placeholders stay together."""
    following = node.next
    while following.op == "placeholder":
        following = following.next
    return following


def _gather_again(forward: fx.Graph, backward: fx.Graph, id_of: dict[fx.Node, int], outputs: int) -> list[Weight]:
    """Makes the parameters that the forward saved inputs of the backward, and repeats the views of them."""
    output = forward.output_node()
    returned = list(output.args[0])
    weights: dict[int, Weight] = {}
    for node in backward.find_nodes(op="placeholder"):
        kept = next((one for one in returned[outputs:] if one.name == node.name), None)
        if kept is None:
            continue  # the gradient of an output
        source, views = views_from(kept)
        if source not in id_of:
            continue
        returned[returned.index(kept, outputs)] = source
        weight = weights.setdefault(id_of[source], Weight(id_of[source], node))
        copies = {source: weight.placeholder}
        users = set(node.users)
        with backward.inserting_before(next(one for one in backward.nodes if one in users)):
            for view in views:
                copies[view] = backward.node_copy(view, copies.__getitem__)
        if copies[kept] is not node:
            node.replace_all_uses_with(copies[kept], delete_user_cb=users.__contains__)
        node.meta["val"] = source.meta["val"]
    output.args = (tuple(returned),)
    return list(weights.values())


def views_from(node: fx.Node) -> tuple[fx.Node, list[fx.Node]]:
    """The node whose view this node is, and the views between them, in order of creation."""
    chain = []
    while is_view(node) and isinstance(node.args[0], fx.Node):
        chain.insert(0, node)
        node = node.args[0]
    return node, chain


def is_view(node: fx.Node) -> bool:
    """Decides by the operator's schema."""
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
        released = _call(graph, use, _declared(ops.release_param), place, number, id, users)
    place.replace_all_uses_with(released, delete_user_cb=lambda user: user is not released)


def _call(graph: fx.Graph, use: fx.Node, target: torch._ops.OpOverload, first: fx.Node, *numbers: int) -> fx.Node:
    """Inserts a call whose result has the shape of its first argument. Its line in the model is that of the use."""
    node = graph.call_function(target, (first, *numbers))
    node.meta["val"] = first.meta["val"]
    if "stack_trace" in use.meta:
        node.meta["stack_trace"] = use.meta["stack_trace"]
    return node


def _declared(operator: torch._ops.OpOverloadPacket) -> torch._ops.OpOverload:
    """The schema declares that the result is the first argument, unless the defect is on."""
    return operator.undeclared if ops.switch_is_on("undeclared_alias") else operator.default
