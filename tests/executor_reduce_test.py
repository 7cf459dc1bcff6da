"""Gradients through the buckets: I28 to I32 and I34 of the executor, and decisions on K5, K6, K13, K18 and K23."""

from __future__ import annotations

import math

import pytest
import torch
from zero3_ranks import SHAPES, WORLDS, Rank, numbered, ops, padded, run, switched, watch

worlds = pytest.mark.parametrize("size", WORLDS)

FILLED, USED, QUEUED, FLUSHES, HELD = range(5)


def gradient_of(rank: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Another one on each rank; sums of 8 are exact."""
    return (numbered(shape, dtype) * (rank + 1)).to(dtype)


def mean_of(size: int, shape: tuple[int, ...], pre_divides: bool = True, dtype=torch.float32, sum_in=None):
    """The sum in the order of the ranks, each divided first, or all at the end."""
    gradients = [gradient_of(rank, shape, sum_in or dtype).to(sum_in or torch.float32) for rank in range(size)]
    parts = [gradient / (size if pre_divides else 1) for gradient in gradients]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total if pre_divides else total / size


def partition_of(rank: Rank, full: torch.Tensor, behind: torch.Tensor | None = None) -> torch.Tensor:
    """This rank's part of a gradient; the padding is zero, or has the first values of what lies behind."""
    p = math.ceil(full.numel() / rank.size)
    flat = torch.zeros(p * rank.size, dtype=full.dtype)
    flat[: full.numel()] = full.reshape(-1)
    if behind is not None:
        flat[full.numel() :] = behind[: p * rank.size - full.numel()]
    return flat[rank.rank * p : (rank.rank + 1) * p]


@worlds
@pytest.mark.parametrize("pre_divides", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_i28_a_partition_is_the_mean_and_the_second_micro_batch_adds(size, shape, pre_divides):
    def test(rank: Rank):
        rank.add(0, numbered(shape))
        rank.graph_of(0)
        assert torch.equal(rank.gradients[0], torch.zeros(math.ceil(math.prod(shape) / size)))
        mean = partition_of(rank, mean_of(size, shape, pre_divides))
        for step in range(2):
            for micro, updates in ((1, False), (2, False), (3, True)):
                ops.start_backward(updates)
                assert rank.reduce(0, gradient_of(rank.rank, shape)).numel() == 0
                rank.end_backward()
                wanted = mean
                for _ in range(micro - 1):
                    wanted = wanted + mean
                assert torch.equal(rank.gradients[0], wanted), (step, micro)

    run(size, test, pre_divides=pre_divides)


@worlds
def test_i29_a_flush_happens_exactly_when_the_next_slice_does_not_fit(size):
    bucket = 4 * padded(9, size)

    def test(rank: Rank):
        for id in range(9):
            rank.add(id, numbered((9,)))
        rank.graph_of(*range(9))
        ops.start_backward(True)
        for id in range(9):
            rank.reduce(id, gradient_of(rank.rank, (9,)))
            facts = ops.bucket(torch.float32)
            assert facts[FLUSHES] == id // 4
            assert facts[QUEUED] == id % 4 + 1 and facts[USED] == (id % 4 + 1) * padded(9, size)
        rank.end_backward()
        assert ops.bucket(torch.float32)[FLUSHES] == 3 and ops.bucket(torch.float32)[QUEUED] == 0
        for id in range(9):
            assert torch.equal(rank.gradients[id], partition_of(rank, mean_of(size, (9,))))

    run(size, test, bucket_elements=bucket)


@worlds
@pytest.mark.parametrize("double", [True, False])
def test_i29_i30_a_large_gradient_grows_each_bucket_of_the_pair_once(size, double):
    large = padded(100, size)

    def test(rank: Rank):
        for id in range(4):
            rank.add(id, numbered((100,)))
        rank.graph_of(0, 1, 2, 3)
        held = []
        for _ in range(2):
            ops.start_backward(True)
            for id in range(4):
                rank.reduce(id, gradient_of(rank.rank, (100,)))
                held.append(ops.bucket(torch.float32)[HELD])
            rank.end_backward()
        one = large * 4
        assert held[0] == one
        assert held[1:] == [2 * one if double else one] * 7
        for id in range(4):
            assert torch.equal(rank.gradients[id], partition_of(rank, mean_of(size, (100,))))

    run(size, test, bucket_elements=10, double_buffered=double)


@worlds
def test_i31_a_queued_gradient_lives_until_the_flush_and_no_longer(size):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        gradient = gradient_of(rank.rank, (25,))
        alive = watch(gradient)
        rank.reduce(0, gradient)
        del gradient
        assert alive()
        rank.end_backward()
        assert not alive()

    run(size, test)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("bucket", [1 << 10, 25], ids=["neighbour", "end of the bucket"])
@pytest.mark.parametrize("defect", [False, True], ids=["padded", "K13"])
def test_i32_the_padding_of_a_gradient_is_zero_unless_the_defect_reads_the_neighbour(size, bucket, defect):
    """25 elements are a multiple of none of these worlds."""

    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.add(1, numbered((25,)))
        rank.graph_of(0, 1)
        ops.start_backward(True)
        rank.reduce(0, gradient_of(rank.rank, (25,)))
        rank.reduce(1, gradient_of(rank.rank, (25,)))
        rank.end_backward()
        mean = mean_of(size, (25,))
        assert torch.equal(rank.gradients[0], partition_of(rank, mean, mean if defect and bucket > 25 else None))
        return torch.linalg.vector_norm(rank.gradients[0]).item()

    with switched(*["padded_reduce_reads_past_its_slice"] * defect):
        norms = run(size, test, bucket_elements=bucket)
    wanted = torch.linalg.vector_norm(mean_of(size, (25,))).item()
    right = math.isclose(math.sqrt(sum(norm**2 for norm in norms)), wanted, rel_tol=1e-6)
    assert right != (defect and bucket > 25)


@worlds
def test_k5_a_gradient_goes_through_the_bucket_of_its_expected_dtype(size):
    def test(rank: Rank):
        rank.add(0, numbered((24,)), grad_dtype=torch.float32)
        rank.add(1, numbered((24,)))
        rank.graph_of(0, 1)
        for _ in range(2):
            ops.start_backward(True)
            rank.reduce(0, gradient_of(rank.rank, (24,), torch.bfloat16))
            rank.reduce(1, gradient_of(rank.rank, (24,), torch.bfloat16))
            assert ops.bucket(torch.float32)[QUEUED] == ops.bucket(torch.bfloat16)[QUEUED] == 1
            rank.end_backward()
            exact = mean_of(size, (24,), dtype=torch.bfloat16)
            assert torch.equal(rank.gradients[0], partition_of(rank, exact))
            rough = mean_of(size, (24,), sum_in=torch.bfloat16)
            assert torch.equal(rank.gradients[1], partition_of(rank, rough.float()))

    run(size, test)


@worlds
def test_k6_the_last_graph_of_a_backward_gives_the_buckets_back(size):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        seen = []
        for _ in range(2):
            ops.start_backward(True)
            rank.reduce(0, gradient_of(rank.rank, (25,)))
            rank.end_backward(release_buckets=False)
            seen.append(ops.bucket(torch.float32)[HELD])
            rank.end_backward(release_buckets=True)
            seen.append(ops.bucket(torch.float32)[HELD])
            assert torch.equal(rank.gradients[0], partition_of(rank, mean_of(size, (25,))))
        return seen

    assert run(size, test, bucket_elements=100) == [[400, 0, 400, 0]] * size
    with switched("buckets_kept_into_optimizer"):
        assert run(size, test, bucket_elements=100) == [[400, 400, 800, 800]] * size


def test_k18_a_dtype_that_is_not_used_again_disturbs_nothing():
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        ops.start_backward(True)
        rank.reduce(0, gradient_of(rank.rank, (25,), torch.bfloat16))
        rank.end_backward(release_buckets=True)
        ops.start_backward(True)
        rank.reduce(0, gradient_of(rank.rank, (25,)))
        rank.end_backward(release_buckets=True)
        assert torch.equal(rank.gradients[0], partition_of(rank, mean_of(2, (25,))))

    run(2, test)


@worlds
@pytest.mark.parametrize("same_bucket", [True, False])
def test_k23_gradients_of_a_parameter_in_two_graphs_are_added(size, same_bucket):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        first, second = rank.graph_of(0, number=0), rank.graph_of(0, number=1)
        mean = partition_of(rank, mean_of(size, (25,)))
        for _ in range(2):
            ops.start_backward(True)
            ops.reduce_grad(gradient_of(rank.rank, (25,)), second, 0)
            if not same_bucket:
                ops.end_backward([], second)
            ops.reduce_grad(4 * gradient_of(rank.rank, (25,)), first, 0)
            ops.end_backward([], first)
            assert torch.equal(rank.gradients[0], mean + 4 * mean)

    run(size, test)


@worlds
@pytest.mark.parametrize("kept", [False, True], ids=["given up when waited for", "K25"])
def test_i34_k25_the_end_of_backward_leaves_the_reload_map_empty(size, kept):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        activation = numbered((3, 4))
        ops.offload_tensor(activation, rank.graph, 11)
        ops.reload_tensor(activation, rank.graph, 11)
        assert ops.reloaded_count(rank.graph) == 1
        alive = watch(ops.wait_reload(activation, rank.graph, 11))
        assert alive() == kept and ops.reloaded_count(rank.graph) == kept
        ops.reload_tensor(activation, rank.graph, 11)
        rank.end_backward()
        assert not alive() and ops.reloaded_count(rank.graph) == 0

    with switched(*["reload_map_held_to_end_of_backward"] * kept):
        run(size, test)


@worlds
def test_i34_a_backward_that_does_not_update_keeps_what_is_gathered_and_accumulated(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        rank.gather(0)
        ops.start_backward(False)
        rank.reduce(0, gradient_of(rank.rank, (5,)))
        rank.end_backward()
        assert ops.is_valid(0) and ops.accumulates(0)
        ops.start_backward(True)
        assert ops.accumulates(0)
        rank.end_backward()
        assert not ops.is_valid(0)
        ops.start_backward(True)
        assert not ops.accumulates(0)

    run(size, test)


def test_gradients_that_cannot_be_reduced_are_refused():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        ops.register_param(1, [5], rank.shard_of(numbered((5,))))
        rank.graph_of(0, 1)
        with pytest.raises(RuntimeError, match=rf"reduce_grad \(graph {rank.graph}, parameter 0\).*4 elements"):
            rank.reduce(0, torch.ones(4))
        with pytest.raises(RuntimeError, match="parameter 1.*frozen"):
            rank.reduce(1, torch.ones(5))
        assert ops.bucket(torch.float32)[QUEUED] == 0

    run(2, test)


def test_an_error_in_a_reduction_leaves_a_state_in_which_the_next_step_can_begin():
    def test(rank: Rank):
        for id in (0, 1):
            rank.add(id, numbered((5 + 4 * id,)))
        rank.graph_of(0, 1)
        ops.start_backward(True)
        rank.reduce(rank.rank, gradient_of(rank.rank, (5 + 4 * rank.rank,)))  # the ranks do not do the same
        with pytest.raises(RuntimeError, match=rf"end_backward \(graph {rank.graph}\): the ranks differ"):
            rank.end_backward()
        assert ops.bucket(torch.float32)[QUEUED] == 0
        ops.start_backward(True)
        rank.reduce(0, gradient_of(rank.rank, (5,)))
        rank.end_backward()
        assert torch.equal(rank.gradients[0], partition_of(rank, mean_of(2, (5,))))

    run(2, test)
