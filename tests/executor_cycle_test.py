"""Gather, wait, release, prefetch: the invariants I1 to I24 of the executor, on simulated ranks."""

from __future__ import annotations

import math

import pytest
import torch
from zero3_ranks import (
    NOWHERE,
    SHAPES,
    WORLDS,
    Rank,
    gathers,
    nbytes,
    numbered,
    ops,
    padded,
    run,
    storage,
    switched,
    watch,
    world,
)

worlds = pytest.mark.parametrize("size", WORLDS)


@worlds
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_i1_i2_i3_i17_i18_what_a_gather_returns(size, shape, dtype):
    def test(rank: Rank):
        full = numbered(shape, dtype)
        rank.add(4, full)
        rank.graph_of(4)
        weight = rank.gather(4)
        assert weight.shape == full.shape and weight.dtype == dtype
        assert torch.equal(weight, full)
        assert weight.storage_offset() == 0
        assert nbytes(weight) == padded(full.numel(), size) * dtype.itemsize
        (registered,) = ops.gathered_buffers(4)
        assert storage(weight) == storage(registered) != storage(rank.shards[4])
        assert weight._base is None

    run(size, test)


@worlds
def test_i4_a_second_gather_is_an_alias_without_communication(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        first = rank.gather(0)
        before = gathers()
        second = rank.gather(0)
        assert gathers() == before and storage(second) == storage(first) and second is not first

    run(size, test)


@worlds
def test_i5_a_gather_after_the_release_communicates(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        rank.gather(0)
        rank.release(0)
        before = gathers()
        assert torch.equal(rank.gather(0), numbered((5,)))
        assert gathers() == before + 1

    run(size, test)


@worlds
@pytest.mark.parametrize("persistent", [True, False])
def test_i6_what_is_still_registered_is_refilled_in_place(size, persistent):
    def test(rank: Rank):
        rank.add(0, numbered((25,)), persistent=persistent)
        rank.graph_of(0)
        weight = rank.gather(0)
        address = weight.data_ptr()
        ops.start_backward(True)
        rank.end_backward()
        assert not ops.is_valid(0)
        rank.shards[0].mul_(2)
        before = gathers()
        again = rank.gather(0)
        assert gathers() == before + 1
        assert again.data_ptr() == address and storage(again) == storage(weight)
        assert torch.equal(again, 2 * numbered((25,))) and torch.equal(weight, again)

    run(size, test)


@worlds
def test_i7_wait_returns_the_identical_object(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        weight = rank.gather(0)
        version = weight._version
        assert rank.wait(weight, 0) is weight and weight._version == version

    run(size, test)


@worlds
@pytest.mark.parametrize("uses", [1, 2, 5])
def test_i8_i9_i10_i14_the_last_release_gives_the_bytes_back_and_the_next_cycle_counts_anew(size, uses):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        for _ in range(3):
            weight = rank.gather(0)
            aliases = [weight, weight[3:7], weight.view(5, 5).t(), rank.gather(0)]
            for _ in range(uses - 1):
                rank.release(0, uses)
                assert nbytes(weight) == padded(25, size) * 4 and ops.is_valid(0)
            rank.release(0, uses)
            assert ops.gathered_buffers(0) == [] and not ops.is_valid(0)
            assert [nbytes(alias) for alias in aliases] == [0, 0, 0, 0]
        assert world.drain_events() == []

    run(size, test)


@worlds
def test_a_buffer_that_the_program_still_holds_is_empty_and_unreadable(size):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        rank.gather(0)
        (registered,) = ops.gathered_buffers(0)
        rank.release(0)
        assert nbytes(registered) == 0 and ops.gathered_buffers(0) == []
        with pytest.raises(RuntimeError, match="parameter 0 of graph .* was given back by its final release_param"):
            registered.sum()

    run(size, test)


@worlds
def test_i11_with_the_switch_a_kept_alias_keeps_all_bytes(size):
    def test(rank: Rank):
        for id in (0, 1):
            rank.add(id, numbered((25,)))
        rank.graph_of(0, 1)
        kept, dropped = rank.gather(0)[2:3], rank.gather(1)
        alive = watch(dropped)
        (registered,) = ops.gathered_buffers(0)
        rank.release(0)
        del dropped
        rank.release(1)
        assert registered.numel() == 0 and nbytes(registered) == 0
        assert nbytes(kept) == padded(25, size) * 4 and not alive()
        assert ops.gathered_buffers(0) == ops.gathered_buffers(1) == []
        assert world.drain_events() == [
            world.Event(world.EventKind.RESIDUAL, rank.graph, 0, padded(25, size) * 4)
        ]  # fmt: skip

    with switched("release_clears_tensor_only"):
        run(size, test)


@worlds
def test_i12_a_persistent_parameter_stays(size):
    def test(rank: Rank):
        rank.add(0, numbered((25,)), persistent=True)
        rank.graph_of(0)
        weight = rank.gather(0)
        address, before = weight.data_ptr(), gathers()
        for _ in range(4):
            rank.release(0, 2)
            assert rank.gather(0).data_ptr() == address
        assert nbytes(weight) == padded(25, size) * 4 and gathers() == before
        assert torch.equal(weight, numbered((25,)))

    run(size, test)


@worlds
def test_i13_release_returns_its_tensor_untouched(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        rank.gather(0)
        activation = torch.ones(3)
        for _ in range(2):
            assert ops.release_param(activation, rank.graph, 0, 2) is activation
        assert activation._version == 0 and torch.equal(activation, torch.ones(3))

    run(size, test)


def test_i15_the_first_count_of_a_cycle_wins_and_another_is_reported():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        weight = rank.gather(0)
        rank.release(0, 2)
        assert nbytes(weight) > 0
        rank.release(0, 3)
        assert nbytes(weight) == 0
        assert world.drain_events() == [world.Event(world.EventKind.MISMATCH, rank.graph, 0, 3)]

    run(2, test)


@pytest.mark.parametrize("after", ["nothing", "release"])
def test_i16_a_release_without_a_gather_names_graph_and_id(after):
    def test(rank: Rank):
        rank.add(17, numbered((5,)))
        rank.graph_of(17, number=3)
        if after == "release":
            rank.gather(17, number=3)
            rank.release(17, number=3)
        with pytest.raises(RuntimeError, match=rf"release_param \(graph {rank.graph + 3}, parameter 17\).* not gath"):
            rank.release(17, number=3)
        assert torch.equal(rank.gather(17, number=3), numbered((5,)))  # the state is as before
        rank.release(17, number=3)

    run(2, test)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_i19_a_shard_of_another_length_on_one_rank_is_refused_by_all(size):
    def test(rank: Rank):
        share = math.ceil(25 / size)
        shard = torch.zeros(share + (rank.rank == 1))
        with pytest.raises(RuntimeError, match=rf"rank 1 has a shard of {share + 1} elements; {share} are the share"):
            ops.register_param(6, [25], shard, torch.zeros(share))
        with pytest.raises(RuntimeError, match="no parameter 6 is registered"):
            rank.graph_of(6)
        with pytest.raises(RuntimeError, match="has a shape of"):
            ops.register_param(6, [25 + rank.rank], torch.zeros(share), torch.zeros(share))
        rank.add(6, numbered((25,)))  # works after the errors

    run(size, test)


@worlds
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_i19_prefetch_makes_the_same_buffer_as_gather(size, shape):
    def test(rank: Rank):
        rank.add(0, numbered(shape))
        rank.graph_of(0)
        ops.prefetch_params_fused(rank.graph, [], [0])
        (registered,) = ops.gathered_buffers(0)
        assert nbytes(registered) == padded(math.prod(shape), size) * 4
        before = gathers()
        weight = rank.gather(0)
        assert gathers() == before and storage(weight) == storage(registered) and torch.equal(weight, numbered(shape))

    run(size, test)


@worlds
def test_i20_what_is_registered_second_replaces_the_first(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)), persistent=True)
        rank.graph_of(0)
        rank.gather(0)
        rank.add(0, 3 * numbered((4, 9)), persistent=True)
        assert ops.gathered_buffers(0) == [] and not ops.is_valid(0)
        for _ in range(2):  # the second one reads what is registered
            before = gathers()
            assert torch.equal(rank.gather(0), 3 * numbered((4, 9)))
        assert gathers() == before
        (registered,) = ops.gathered_buffers(0)
        assert nbytes(registered) == padded(36, size) * 4

    run(size, test)


@worlds
def test_i21_after_invalidate_a_gather_registers_the_real_buffer(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        rank.gather(0)
        ops.invalidate(0)
        assert not ops.is_valid(0) and ops.gathered_buffers(0) == []
        weight = rank.gather(0)
        (registered,) = ops.gathered_buffers(0)
        assert storage(registered) == storage(weight) and torch.equal(weight, numbered((5,)))

    run(size, test)


@worlds
def test_i22_clear_all_leaves_what_is_persistent(size):
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.add(1, numbered((6,)), persistent=True)
        rank.graph_of(0, 1)
        alive = watch(rank.gather(0))
        kept = rank.gather(1)
        ops.clear_all()
        ops.invalidate(1)
        assert not alive() and ops.gathered_buffers(0) == [] and not ops.is_valid(0)
        before = gathers()
        assert storage(rank.gather(1)) == storage(kept) and gathers() == before

    run(size, test)


@worlds
@pytest.mark.parametrize("first", ["set_persistent", "gather"])
def test_i23_persistent_before_or_after_the_first_gather_is_the_same(size, first):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        before = gathers()
        if first == "gather":
            early = rank.gather(0)
            ops.set_persistent(0)
        else:
            ops.set_persistent(0)
            assert len(ops.gathered_buffers(0)) == 1 and gathers() == before + 1  # gathered at once
            early = rank.gather(0)
        assert gathers() == before + 1
        rank.release(0)
        weight = rank.gather(0)
        (registered,) = ops.gathered_buffers(0)
        assert storage(weight) == storage(early) == storage(registered) and torch.equal(weight, numbered((25,)))

    run(size, test)


@worlds
def test_i24_a_prefetch_is_one_group_of_what_is_missing(size):
    def test(rank: Rank):
        for id in range(4):
            rank.add(id, numbered((id + 3,)))
        rank.graph_of(0, 1, 2, 3)
        rank.gather(2)
        groups, launched, _ = ops.traffic()
        ops.prefetch_params_fused(rank.graph, [], [])
        ops.prefetch_params_fused(rank.graph, [rank.shards[2]], [2])
        assert ops.traffic()[:2] == [groups, launched]
        ops.prefetch_params_fused(rank.graph, [rank.shards[id] for id in range(4)], [0, 1, 2, 3])
        ops.prefetch_params_fused(rank.graph, [], [3, 3, 1])
        assert ops.traffic()[:2] == [groups + 1, launched + 3]
        for id in range(4):
            assert torch.equal(rank.wait(rank.gather(id), id), numbered((id + 3,)))
        assert ops.traffic()[:2] == [groups + 1, launched + 3]

        for id in range(4):
            rank.release(id)
        ops.prefetch_params_fused(rank.graph, [], [1, 1, 2, 1])  # named twice, gathered once
        assert ops.traffic()[:2] == [groups + 2, launched + 5]

    run(size, test)


@pytest.mark.parametrize("fetched", ["gather", "prefetch"])
def test_k9_k10_another_dtype_gets_a_buffer_of_its_own_which_the_release_reaches(fetched):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        if fetched == "gather":
            rank.gather(0)
        else:
            ops.prefetch_params_fused(rank.graph, [], [0])
        before = gathers()
        half = rank.gather(0, torch.bfloat16)
        assert gathers() == before
        assert half.dtype == torch.bfloat16 and torch.equal(half, numbered((25,), torch.bfloat16))
        assert rank.gather(0).dtype == torch.float32 and storage(rank.gather(0, torch.bfloat16)) == storage(half)
        full = rank.gather(0)
        rank.release(0)
        assert nbytes(half) == nbytes(full) == 0 and ops.gathered_buffers(0) == []

    run(2, test)


def test_k7_k9_a_prefetch_uses_the_dtype_that_the_gather_will_ask_for():
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        ops.prefetch_params_fused(rank.graph, [], [0], [torch.bfloat16])
        before = gathers()
        assert nbytes(rank.gather(0, torch.bfloat16)) == padded(25, 2) * 2 and gathers() == before
        with pytest.raises(RuntimeError, match="as many dtypes as parameters"):
            ops.prefetch_params_fused(rank.graph, [], [0], [torch.bfloat16, torch.float32])

    run(2, test)


def test_k9_a_persistent_parameter_gives_back_its_copy_in_another_dtype():
    def test(rank: Rank):
        rank.add(0, numbered((25,)), persistent=True)
        rank.graph_of(0)
        full, half = rank.gather(0), rank.gather(0, torch.bfloat16)
        rank.release(0)
        assert nbytes(half) == 0 and nbytes(full) == padded(25, 2) * 4

    run(2, test)


def test_k14_a_shard_that_is_not_contiguous_is_refused():
    def test(rank: Rank):
        with pytest.raises(RuntimeError, match="shard is not contiguous"):
            ops.register_param(0, [10], torch.zeros(10)[::2], torch.zeros(5))

    run(2, test)


def test_k16_a_lost_release_is_forgotten_at_the_next_pass_and_reported():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        backward, invalidate = lambda: ops.start_backward(False), lambda: ops.invalidate(0)
        for begin_pass in (ops.start_forward, backward, ops.clear_all, invalidate):
            rank.gather(0)
            rank.release(0, 3)  # an error ends the pass: two more never come
            begin_pass()
            assert world.drain_events() == [world.Event(world.EventKind.LOST, rank.graph, 0, 2)]
            weight = rank.gather(0)
            rank.release(0, 2)
            assert nbytes(weight) > 0
            rank.release(0, 2)
            assert nbytes(weight) == 0
        assert world.drain_events() == []

    run(2, test)


def test_wait_needs_a_gather():
    def test(rank: Rank):
        rank.add(9, numbered((5,)))
        rank.graph_of(9)
        with pytest.raises(RuntimeError, match=rf"wait_allgather \(graph {rank.graph}, parameter 9\).*not gathered"):
            rank.wait(NOWHERE, 9)

    run(2, test)
