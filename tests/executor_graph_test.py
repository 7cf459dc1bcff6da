"""A module as FX graphs with the operators inserted: what the pass promises, and that training computes the same."""

from __future__ import annotations

import collections
import math

import pytest
import torch
from executor_training_test import arguments_of, assert_equal, plain, sharded
from torch import fx, nn
from zero3_ranks import nbytes, ops, padded, switched, world

from dcmt_zero3.compiled import CompiledModel, trace


def calls(graph: fx.GraphModule, op: str) -> list[fx.Node]:
    return graph.graph.find_nodes(op="call_function", target=getattr(ops, op).default)


def gathered_at_once(graph: fx.GraphModule) -> tuple[int, int]:
    """The most weights gathered at a time, and those left at the end, by counting over the nodes."""
    left: dict[int, int] = {}
    most = 0
    for node in graph.graph.nodes:
        if node.target is ops.allgather_param.default:
            assert node.args[2] not in left
            left[node.args[2]] = 0
        elif node.target is ops.release_param.default:
            left[node.args[2]] += 1
            if left[node.args[2]] == node.args[3]:
                del left[node.args[2]]
        most = max(most, len(left))
    return most, len(left)


@pytest.mark.parametrize("size", [1, 3])
def test_training_with_graphs_equals_a_plain_loop_bit_for_bit(size):
    arguments = arguments_of(compiled=True)
    wanted = plain(size, arguments)
    for rank, one in enumerate(sharded(size, compiled=True)):
        assert one["losses"] == wanted["losses"][rank] and one["norms"] == wanted["norms"]
        for seen, right in zip(one["parameters"], wanted["parameters"], strict=True):
            assert torch.equal(seen, right)
        assert one["events"] == []


def test_graphs_equal_units_and_persistence_changes_no_number():
    units = sharded(2, steps=4)
    assert_equal(sharded(2, steps=4, compiled=True), units)
    assert_equal(sharded(2, steps=4, compiled=True, persistent_below=100), units)
    with switched("release_clears_tensor_only", "wrapper_keeps_aliases"):
        assert_equal(sharded(2, steps=4, compiled=True), units)


def test_buffers_are_reused_where_schemas_are_right():
    units = sharded(2, steps=4)
    assert_equal(sharded(2, steps=4, compiled=True, reuse_buffers=True), units)
    with switched("undeclared_alias"):
        assert_equal(sharded(2, steps=4, compiled=True), units)  # harmless alone
        defect = sharded(2, steps=4, compiled=True, reuse_buffers=True)
    for rank, right in zip(defect, units, strict=True):
        assert all(seen != wanted for seen, wanted in zip(rank["norms"], right["norms"], strict=True))
        assert all(seen != wanted for seen, wanted in zip(rank["losses"][2:], right["losses"][2:], strict=True))
        assert rank["events"] == []  # the weights are released as they should be


class Residual(nn.Module):
    """What the first weight makes is read by the second one, and once more after that; the sum is read once."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.randn(4, 4)) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x @ self.first
        return -(torch.tanh(x @ self.second) + x)


@pytest.mark.parametrize("undeclared", [False, True])
def test_a_result_goes_into_a_buffer_that_nobody_reads_any_more(undeclared):
    """K8: a buffer counts as dead at its release, although the release passes it on."""
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))
    traced = trace(Residual(), [x])

    def test(rank: int) -> None:
        torch.manual_seed(0)
        module = Residual()
        wanted = module(x).detach()
        with switched(*["undeclared_alias"] * undeclared):
            model = CompiledModel(rank, module, traced, reuse=True)
        nodes = list(model.forward_graph.graph.nodes)
        written = [(node.name, node.kwargs["out"].name) for node in nodes if "out" in node.kwargs]
        # Which other values the backward needs, and which buffers are free then, is up to torch's partitioner.
        assert written
        # The second product over the first one, which it reads and the sum reads again.
        assert (("mm_1", "mm") in written) is undeclared
        assert torch.equal(model(x), wanted) is not undeclared

    world.run_ranks(1, test)


class Twice(nn.Module):
    """One weight used twice, once through two views; one used by nothing but views of views; one never."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 6) / 3)
        self.bias = nn.Parameter(torch.randn(2, 3))
        self.norm = nn.LayerNorm(6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(x @ self.weight)
        return self.norm(x @ self.weight.view(36).view(6, 6).t()) + self.bias.view(6).unsqueeze(0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_use_is_released_and_the_last_one_gives_the_bytes_back(size):
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(3))
    traced = trace(Twice(), [x])

    def test(rank: int) -> None:
        torch.manual_seed(0)
        module = Twice()
        names = [name for name, _ in module.named_parameters()]
        wanted = torch.autograd.grad(module(x).square().sum(), list(module.parameters()))
        output = module(x).detach()
        model = CompiledModel(rank, module, traced)
        forward, backward = model.forward_graph, model.backward_graph

        users = collections.Counter((names[node.args[2]], node.args[3]) for node in calls(forward, "release_param"))
        assert users == {("weight", 2): 2, ("bias", 1): 1, ("norm.weight", 1): 1, ("norm.bias", 1): 1}
        for graph in (forward, backward):
            ids = [node.args[2] for node in calls(graph, "allgather_param")]
            assert len(ids) == len(set(ids)) and gathered_at_once(graph)[1] == 0
        assert [node.args[2] for node in calls(backward, "reduce_grad")].count(0) == 1
        assert len(calls(backward, "reduce_grad")) == 4
        (end,) = calls(backward, "end_backward")
        assert set(end.args[0]) == set(calls(backward, "reduce_grad"))

        result = model(x)
        assert torch.equal(result, output)
        model.start_backward(True)
        result.square().sum().backward()
        for shard, gradient in zip(model.shards(), wanted, strict=True):
            whole = ops.gather_across(shard.grad).view(-1)[: gradient.numel()].view(gradient.shape)
            assert torch.allclose(whole, gradient, rtol=1e-6)
        assert all(ops.gathered_buffers(id) == [] for id in range(4))

    world.run_ranks(size, test)


def test_weights_are_gathered_late_and_released_early():
    module = nn.Sequential(*[nn.Linear(5, 5) for _ in range(6)])
    traced = trace(module, [torch.ones(2, 5)])

    def test(rank: int) -> None:
        model = CompiledModel(rank, module, traced)
        for graph in (model.forward_graph, model.backward_graph):
            assert gathered_at_once(graph) == (2 if graph is model.forward_graph else 1, 0)  # a matrix and its bias

    world.run_ranks(1, test)


def test_what_the_backward_needs_of_a_weight_is_not_saved():
    """Saved are shards, not weights or views of them: nothing of the gathered size outlives the forward."""

    def make_module() -> nn.Module:
        return nn.Sequential(nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 9), nn.LayerNorm(9))

    traced = trace(make_module(), [torch.ones(2, 9)])

    def test(rank: int) -> None:
        model = CompiledModel(rank, make_module(), traced)
        result = model(torch.ones(2, 9))
        saved = result.grad_fn.saved_tensors
        gathered = {padded(math.prod(shape), 2) * 4 for shape in ((9, 9), (9,))}
        for tensor in saved:
            is_shard = any(tensor.data_ptr() == shard.data_ptr() for shard in model.shards())
            assert is_shard or (nbytes(tensor) > 0 and nbytes(tensor) not in gathered)
        assert sum(tensor.numel() == 41 for tensor in saved) == 1  # the second matrix: the first has no input gradient

    world.run_ranks(2, test)


def test_a_view_of_a_weight_as_output_is_refused():
    class Returned(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.weight.t()

    traced = trace(Returned(), [torch.ones(1)])

    def test(rank: int) -> None:
        with pytest.raises(NotImplementedError, match="returns a view of a parameter"):
            CompiledModel(rank, Returned(), traced)

    world.run_ranks(1, test)
