"""Tests which operators are observed, and which Python stack is recorded for their effects."""

from __future__ import annotations

import recorded

PROGRAM = recorded.PROGRAMS / "operators_on_demand.py"


def function_operators(trace) -> set[str]:
    rows = recorded.query(trace, "SELECT DISTINCT text FROM operator JOIN string ON string.id = name WHERE scope = 'function'")
    return {name for (name,) in rows}


def functions_at_births(trace) -> dict[int, list[str]]:
    """By bytes of a storage: the Python functions of the first such birth, innermost first."""
    births: dict[int, list[str]] = {}
    for bytes_, function in recorded.query(
        trace,
        "WITH RECURSIVE walk(bytes, stack, depth) AS ("
        "  SELECT bytes, stack, 0 FROM storage WHERE id IN (SELECT min(id) FROM storage GROUP BY bytes) AND stack IS NOT NULL"
        "  UNION ALL SELECT bytes, k.parent, depth + 1 FROM walk JOIN stack k ON k.id = walk.stack WHERE k.parent IS NOT NULL)"
        " SELECT bytes, text FROM walk JOIN stack k ON k.id = walk.stack JOIN frame ON frame.id = k.frame"
        " JOIN string ON string.id = frame.function ORDER BY bytes, depth",
    ):
        births.setdefault(bytes_, []).append(function)
    return births


def phases(trace) -> list[str]:
    return [
        name
        for (name,) in recorded.query(
            trace, "SELECT text FROM mark JOIN string ON string.id = name WHERE kind = 'phase' ORDER BY from_seq"
        )
    ]


def test_operators_from_the_first_gather_on(tmp_path):
    recorded.record(tmp_path / "plain", PROGRAM)
    recorded.record(tmp_path / "gather", PROGRAM, "--gather")
    recorded.record(tmp_path / "full", PROGRAM, detail="full")
    recorded.record(tmp_path / "operators", PROGRAM, detail="operators")
    names = ("plain", "gather", "full", "operators")
    (plain,), (gather,), (full,), (operators,) = (recorded.traces(tmp_path / name) for name in names)
    assert function_operators(plain) == function_operators(full) == set()
    assert "aten::mm" in function_operators(gather)
    assert "aten::mm" in function_operators(operators)
    # The scope of zero_grad would begin a third step.
    expected = ["forward", "backward", "optimizer"] * 2 + ["forward"]
    assert phases(plain) == phases(gather) == phases(full) == phases(operators) == expected


NODES = """
import torch
torch.set_num_threads(1)
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():  # an engine inside of the engine
            inner = torch.ones(150, 150, requires_grad=True)
            (inner.sin() * 2).sum().backward()
        return gradient * 2
layers = torch.nn.Sequential(torch.nn.Linear(150, 150), torch.nn.GELU(), torch.nn.LayerNorm(150))
for _ in range(3):
    x = torch.ones(150, 150, requires_grad=True)
    Doubled.apply(layers(x)).pow(3).sum().backward()
    torch.ones(150, 150, requires_grad=True).sum().backward()
"""


def allocations_of_nodes(trace) -> list[tuple[int, str]]:
    return recorded.query(
        trace,
        "SELECT bytes, text FROM block JOIN operator ON operator.id = block.operator"
        " JOIN string ON string.id = operator.name WHERE scope = 'backward' AND bytes >= 65536"
        " AND text != 'autograd::engine::execute' ORDER BY block.from_seq",
    )


def test_nodes_have_their_names_without_a_callback_for_each(tmp_path):
    """With `lifetimes`, autograd is asked for the current node at allocations; with `full`, torch reports each node."""
    found = {}
    for detail in ("lifetimes", "full"):
        recorded.record(tmp_path / detail, "-c", NODES, detail=detail)
        (trace,) = recorded.traces(tmp_path / detail)
        found[detail] = allocations_of_nodes(trace)
    # The names of nodes that are defined in Python are not queried, because that needs the GIL.
    expected = [(bytes_, name.replace("DoubledBackward", "torch::autograd::PyNode")) for bytes_, name in found["full"]]
    assert found["lifetimes"] == expected
    names = {name for _, name in expected}
    assert {"torch::autograd::PyNode", "torch::autograd::AccumulateGrad", "SinBackward0", "GeluBackward0"} <= names


@recorded.for_soak
def test_each_birth_has_the_stack_of_its_own_place(tmp_path):
    for detail in ("lifetimes", "full", "operators"):
        recorded.record(tmp_path / detail, PROGRAM, detail=detail)
        (trace,) = recorded.traces(tmp_path / detail)
        births = functions_at_births(trace)
        sizes = recorded.python(PROGRAM, "--sizes").stdout.split()
        hook, helper_one, helper_two, backward, plain = (births[int(size)] for size in sizes)
        assert hook[:2] == ["copy", "pack"] and "forward_with_hooks" in hook
        assert helper_one[:2] == ["fill", "first"]
        assert helper_two[:2] == ["fill", "second"]
        assert backward[:2] == ["Scale.backward", "BackwardCFunction.apply"] and "step" in backward
        assert plain[0] == "step"
