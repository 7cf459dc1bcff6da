"""Profiling, offload, cleanup, errors and the worlds themselves: I33, I35 to I40, and decisions on K15 to K20."""

from __future__ import annotations

import subprocess
import threading

import pytest
import recorded
import torch
from zero3_ranks import NOWHERE, WORLDS, Rank, gathers, nbytes, numbered, ops, run, storage, switched, watch, world

worlds = pytest.mark.parametrize("size", WORLDS)


@worlds
@pytest.mark.parametrize("fails", [False, True], ids=["ends", "raises"])
def test_i33_profiling_reduces_and_frees_nothing_and_leaves_nothing_gathered(size, fails):
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.add(1, numbered((25,)), persistent=True)
        rank.graph_of(0, 1)
        big = torch.ones(1000)
        try:
            with world.profiling():
                assert ops.is_profiling()
                weight = rank.gather(0)
                rank.gather(1)
                reductions = ops.traffic()[2]
                rank.reduce(0, torch.ones(25))
                rank.end_backward()
                assert ops.traffic()[2] == reductions and ops.bucket(torch.float32)[2] == 0
                ops.free_tensors([big])
                assert big.numel() == 1000
                assert ops.wait_reload(big, rank.graph, 5) is big
                if fails:
                    raise KeyError("a node of the graph")
        except KeyError:
            assert fails
        assert not ops.is_profiling()
        alive = watch(weight)
        del weight
        assert not alive() and ops.gathered_buffers(0) == [] and not ops.is_valid(0)
        assert ops.is_valid(1)
        assert not rank.gradients[0].any()
        with pytest.raises(RuntimeError, match="nothing was reloaded"):
            ops.wait_reload(big, rank.graph, 5)

    run(size, test)


@worlds
def test_i38_reading_what_was_given_back_is_an_error_that_names_it(size):
    def test(rank: Rank):
        rank.add(6, numbered((5, 5)))
        rank.graph_of(6)
        weight = rank.gather(6)
        product = weight + 1
        rank.release(6)
        for read in (lambda: weight + 1, lambda: weight.sum(), lambda: weight.clone(), lambda: weight.data_ptr()):
            with pytest.raises(RuntimeError, match=f"parameter 6 of graph {rank.graph} was given back by its final"):
                read()
        with pytest.raises(RuntimeError):
            torch.mm(product, weight)
        assert torch.equal(rank.gather(6) + 1, product)  # a gather uses another storage

    run(size, test)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
def test_i35_an_activation_comes_back_bit_for_bit(dtype):
    def test(rank: Rank):
        rank.graph_of()
        hosts = []
        for seed in range(2):
            torch.manual_seed(seed)
            activation = torch.randn(5, 7).to(dtype)
            wanted = activation.clone()
            host = ops.offload_tensor(activation, rank.graph, 1)
            hosts.append(host.data_ptr())
            assert torch.equal(ops.wait_offload(activation, rank.graph, 1).to(wanted.device), wanted)
            activation.zero_()
            ops.reload_tensor(NOWHERE, rank.graph, 1)
            back = ops.wait_reload(NOWHERE, rank.graph, 1)
            assert torch.equal(back, wanted) and storage(back) != storage(host)
        assert hosts[0] == hosts[1]
        with pytest.raises(RuntimeError, match=rf"offload_tensor \(graph {rank.graph}, parameter 1\).*another shape"):
            ops.offload_tensor(torch.ones(7, 5).to(dtype), rank.graph, 1)
        for missing in (ops.wait_offload, ops.reload_tensor):
            with pytest.raises(RuntimeError, match="nothing was offloaded"):
                missing(NOWHERE, rank.graph, 2)

    run(2, test)


@worlds
def test_i36_k15_a_shard_comes_back_bit_for_bit_while_another_reloads(size):
    def test(rank: Rank):
        for id in (0, 1):
            rank.add(id, numbered((25,)) / 3 + id)
        rank.graph_of(0, 1)
        ops.reload_parameter(NOWHERE, rank.graph, 0)
        assert torch.equal(rank.gather(0), numbered((25,)) / 3)
        rank.release(0)
        ops.offload_parameter(NOWHERE, rank.graph, 0)
        ops.reload_parameter(NOWHERE, rank.graph, 1)
        for id in (0, 1):
            assert torch.equal(rank.gather(id), numbered((25,)) / 3 + id)
        ops.offload_parameter(NOWHERE, rank.graph, 1)
        ops.offload_parameter(NOWHERE, rank.graph, 1)  # nothing left to do
        for id in (0, 1):
            assert torch.equal(rank.shards[id], rank.shard_of(numbered((25,)) / 3 + id))

    run(size, test)


@worlds
def test_i37_k19_cleanup_lets_go_of_everything_and_the_world_can_be_entered_again(size):
    def test(number: int, rank: int):
        ops.init_simulated(number, rank, size, bucket_elements=64)
        one = Rank(rank)
        one.add(0, numbered((25,)))
        one.add(1, numbered((25,)), persistent=True)
        one.graph_of(0, 1)
        one.gather(0)
        one.gather(1)
        one.gather(0, torch.bfloat16)
        ops.reduce_grad(torch.ones(25), one.graph, 0)
        ops.offload_tensor(torch.ones(9), one.graph, 3)
        ops.reload_parameter(NOWHERE, one.graph, 0)
        held = [watch(tensor) for tensor in (*ops.gathered_buffers(0), *ops.gathered_buffers(1))]
        held += [watch(tensor) for tensor in (*one.shards.values(), *one.gradients.values())]
        held += [watch(ops.wait_offload(NOWHERE, one.graph, 3)), watch(ops.reload_tensor(NOWHERE, one.graph, 3))]
        one.shards.clear()
        one.gradients.clear()
        assert len(held) == 9 and all(alive() for alive in held)
        ops.cleanup()
        ops.cleanup()
        assert not any(alive() for alive in held)
        with pytest.raises(RuntimeError, match="this thread is no rank"):
            ops.rank()

    def thread(rank: int):
        try:
            for round in range(3):
                test(1_000_000 * size + round, rank)
        except BaseException as error:
            errors.append(error)
            ops.cleanup()

    errors = []
    threads = [threading.Thread(target=thread, args=(rank,)) for rank in range(size)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []


def test_reset_drops_the_graphs_and_keeps_parameters_and_buckets():
    def test(rank: Rank):
        rank.add(0, numbered((25,)))
        rank.graph_of(0)
        weight = rank.gather(0)
        rank.release(0, 2)
        ops.reset()
        with pytest.raises(RuntimeError, match="no graph of this number"):
            rank.release(0, 2)
        rank.graph_of(0)
        before = gathers()
        assert storage(rank.gather(0)) == storage(weight) and gathers() == before
        rank.release(0, 1)  # the count of the dropped graph is gone
        assert nbytes(weight) == 0

    run(2, test)


def test_i40_meta_kernels_have_the_same_shapes_and_touch_nothing():
    def test(rank: Rank):
        rank.add(0, numbered((3, 5)))
        rank.graph_of(0)
        here = torch.empty(4, device="meta")
        before, used = ops.traffic(), (rank.graph, 0)
        assert ops.allgather_param(here, *used).shape == (3, 5)
        assert ops.allgather_param(here, *used).is_meta
        assert ops.allgather_param(here, *used, torch.bfloat16).dtype == torch.bfloat16
        for same in (ops.wait_allgather(here, *used), ops.release_param(here, *used, 1)):
            assert same is here
        for like in (ops.offload_tensor, ops.wait_offload, ops.reload_tensor, ops.wait_reload):
            assert like(here, *used).shape == (4,) and like(here, *used).is_meta
        assert ops.reduce_grad(here, *used).shape == (0,)
        ops.prefetch_params_fused(rank.graph, [here], [0])
        ops.free_tensors([here])
        ops.offload_parameter(here, *used)
        ops.reload_parameter(here, *used)
        ops.end_backward([here], rank.graph)
        assert ops.traffic() == before and ops.gathered_buffers(0) == [] and not ops.is_valid(0)
        assert here.numel() == 4

    run(2, test)


def test_i39_operators_alias_what_they_declare_and_what_is_listed_here():
    """Inputs by position, outputs as -1; the registry stands for the executor's own state."""

    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        t, used = torch.ones(6), (rank.graph, 0)
        observed = {}

        def call(name: str, *arguments) -> torch.Tensor:
            result = getattr(ops, name)(t, *arguments)
            owners = {storage(t): "t", **{storage(one): "registry" for one in ops.gathered_buffers(0)}}
            observed[name] = owners.get(storage(result))
            return result

        weight = call("allgather_param", *used)
        assert storage(weight) == storage(ops.gathered_buffers(0)[0])
        call("wait_allgather", *used)
        call("release_param", *used, 1)
        host = call("offload_tensor", *used)
        assert storage(call("wait_offload", *used)) == storage(host)
        reloaded = call("reload_tensor", *used)
        assert storage(call("wait_reload", *used)) == storage(reloaded)
        declared = {
            name: "t" if getattr(ops, name).default._schema.returns[0].alias_info else None for name in observed
        }
        differing = {name: observed[name] for name in observed if observed[name] != declared[name]}
        assert differing == {"allgather_param": "registry"}
        assert [name for name in observed if declared[name]] == ["wait_allgather", "release_param"]

    run(1, test)


def test_i39_k8_the_undeclared_overloads_do_the_same_under_a_schema_that_hides_the_alias():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        used = (rank.graph, 0)
        weight = rank.gather(0)
        assert ops.wait_allgather.undeclared(weight, *used) is weight
        assert ops.release_param.undeclared(weight, *used, 1) is weight
        assert nbytes(weight) == 0
        here = torch.empty(4, device="meta")
        assert ops.wait_allgather.undeclared(here, *used) is here
        assert ops.release_param.undeclared(here, *used, 1) is here
        for one in (ops.wait_allgather, ops.release_param):
            assert one.default._schema.returns[0].alias_info.before_set == {"a"}
            assert one.undeclared._schema.returns[0].alias_info is None

    run(2, test)


def test_the_operators_can_be_called_from_c_plus_plus():
    library = recorded.BUILD / "lib" / "dcmt" / "libdcmt_zero3.so"
    done = subprocess.run([recorded.BUILD / "bin" / "zero3_operators", library], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_k20_the_threshold_of_free_tensors_is_in_bytes():
    def test(rank: Rank):
        at, above = torch.ones(100), torch.ones(101)
        alive = watch(above)
        ops.free_tensors([at, above])
        assert at.numel() == 100 and above.numel() == 0 and not alive()

    run(1, test, free_threshold_bytes=400)


def test_dtypes_that_no_collective_supports_are_refused_at_registration():
    def test(rank: Rank):
        with pytest.raises(RuntimeError, match=r"register_param \(parameter 3\): a shard of ComplexFloat"):
            ops.register_param(3, [4], torch.zeros(2, dtype=torch.complex64))
        with pytest.raises(RuntimeError, match="gradients of Bool"):
            ops.register_param(3, [4], torch.zeros(2), torch.zeros(2), False, torch.bool)

    run(2, test)


def test_a_graph_belongs_to_one_rank_and_has_its_parameters():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.add(1, numbered((5,)))
        rank.graph_of(0)
        with pytest.raises(RuntimeError, match="without this parameter"):
            rank.gather(1)
        with pytest.raises(RuntimeError, match=r"register_graph_z3 \(graph 0\).*registered already"):
            ops.register_graph_z3(0, [0])
        with pytest.raises(RuntimeError, match="no parameter 7"):
            ops.register_graph_z3(rank.graph + 1, [7])

    run(1, test)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_rank_that_fails_does_not_leave_the_others_waiting(size):
    errors = {}

    def test(rank: Rank):
        try:
            ops.gather_across(torch.ones(1))
            if rank.rank == 1:
                raise KeyError("rank 1")
            ops.gather_across(torch.ones(1))
        except RuntimeError as error:
            errors[rank.rank] = str(error)
            raise

    with pytest.raises((KeyError, RuntimeError)):
        run(size, test)
    assert sorted(errors) == [rank for rank in range(size) if rank != 1]
    assert all("gather_across: rank" in text and "has left the world" in text for text in errors.values())


def test_ranks_that_do_different_things_get_an_error_and_can_go_on():
    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.add(1, numbered((9,)))
        rank.graph_of(0, 1)
        with pytest.raises(RuntimeError, match=r"rank 0 is in allgather_param \(graph 0, parameter 0\) with all"):
            rank.gather(rank.rank)
        assert ops.gathered_buffers(0) == ops.gathered_buffers(1) == []
        for id, shape in ((0, (5,)), (1, (9,))):
            assert torch.equal(rank.gather(id), numbered(shape))

    run(2, test)


@worlds
def test_ranks_run_one_at_a_time_in_one_order(size):
    """The order of what happens between collectives is the same in every run."""
    order = []

    def test(rank: Rank):
        for turn in range(20):
            order.append((turn, rank.rank))
            ops.gather_across(torch.ones(1))

    run(size, test)
    assert order == [(turn, rank) for turn in range(20) for rank in range(size)]


def test_a_world_of_64_ranks():
    def test(rank: Rank):
        rank.add(0, numbered((65,)))
        rank.graph_of(0)
        assert torch.equal(rank.gather(0), numbered((65,)))

    run(64, test)
    with pytest.raises(RuntimeError, match="1 to 64 ranks"):
        run(65, test)


def test_switches_have_names():
    with pytest.raises(RuntimeError, match='no switch "no_such"'):
        ops.set_switch("no_such", True)
    with switched("as_published"):
        assert {"release_clears_tensor_only", "padded_reduce_reads_past_its_slice"} <= set(ops.switches_on())
    assert ops.switches_on() == []
