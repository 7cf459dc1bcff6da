"""Lets operators of an FX graph write their results into buffers that are dead by the schemas.

A compiler's memory plan does the same. It uses only the aliases that operators declare. If an operator declares too
few, a buffer is overwritten while a tensor that is read later shares it.
"""

from __future__ import annotations

import collections

import torch
from torch import fx

from . import graph_pass


def reuse_buffers(graph: fx.Graph) -> None:
    """The graph must not have in-place writes yet."""
    nodes = list(graph.nodes)
    dying = _nodes_by_last_use(nodes)
    dead: list[fx.Node] = []
    for index, node in enumerate(nodes):
        if _allocates(node):
            buffer = next((one for one in dead if _layout(one) == _layout(node)), None)
            overload = _out_overload(node.target)
            if buffer is not None and overload is not None:
                dead.remove(buffer)
                node.target = overload
                node.kwargs = {**node.kwargs, "out": buffer}
        dead += dying[index]


def _nodes_by_last_use(nodes: list[fx.Node]) -> dict[int, list[fx.Node]]:
    """The allocating nodes, by the index of the last node that uses them or their views."""
    owner: dict[fx.Node, fx.Node] = {}
    last: dict[fx.Node, int] = {}
    for index, node in enumerate(nodes):
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            raise NotImplementedError(f"the graph writes in place: {node}")
        owner[node] = owner[node.args[0]] if graph_pass.is_view(node) else node
        for used in (owner[node], *[owner[one] for one in node.all_input_nodes]):
            last[used] = index
    by_index = collections.defaultdict(list)
    for node, index in last.items():
        if _allocates(node):
            by_index[index].append(node)
    return by_index


def _allocates(node: fx.Node) -> bool:
    """An operator of torch that allocates its one result. Results of the executor's operators are aliases."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return False
    return not graph_pass.is_view(node) and isinstance(node.meta["val"], torch.Tensor)


def _layout(node: fx.Node) -> tuple:
    value = node.meta["val"]
    return value.dtype, value.shape, value.stride()


def _out_overload(target: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The overload with the same arguments and an output argument."""

    def arguments(schema: torch.FunctionSchema, out: bool) -> list[tuple[str, str]]:
        return [(one.name, str(one.type)) for one in schema.arguments if one.is_out == out]

    wanted = arguments(target._schema, False)
    for name in target.overloadpacket.overloads():
        other = getattr(target.overloadpacket, name)
        if arguments(other._schema, True) == [("out", "Tensor")] and arguments(other._schema, False) == wanted:
            return other
    return None
