"""What the executor asks of NCCL, and what becomes of its errors: on the CPU, with the tests' own NCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import nccl_ranks
import pytest
import recorded
import torch
from nccl_ranks import drain_calls, fail_next
from zero3_ranks import Rank, numbered, ops, run

ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{recorded.ROOT}/executor/python:{recorded.ROOT}/tests"}


@pytest.fixture(autouse=True)
def ranks_over_nccl(monkeypatch):
    monkeypatch.setattr(ops, "init_simulated", nccl_ranks.init)
    for rank in range(8):
        drain_calls(rank)  # of other tests


@pytest.fixture
def alone():
    """The only rank of a world, with parameters of 5 and 3 elements; what NCCL was asked so far is forgotten."""
    ops.init_nccl(ops.nccl_unique_id(), 0, 1, "cpu", bucket_elements=64)
    try:
        rank = Rank(0)
        rank.add(0, numbered((5,)))
        rank.add(1, numbered((3,)))
        rank.graph_of(0, 1)
        drain_calls()
        yield rank
    finally:
        ops.cleanup()


def failure(call) -> str:
    with pytest.raises(RuntimeError) as error:
        call()
    return str(error.value)


# --- the sequence of calls ---


@pytest.mark.parametrize("size", [1, 2, 3])
def test_gathers_and_reductions_come_in_closed_groups(size):
    def test(rank: Rank):
        for id, elements in enumerate((5, 0, 9)):
            rank.add(id, numbered((elements,)))
        rank.graph_of(0, 1, 2)
        registered = [call for call in drain_calls(rank.rank) if call != "id"]
        assert registered == [f"init {size}", *["start", "gather 5 int64", "end"] * 3]
        small, large = (-(-elements // size) for elements in (5, 9))

        rank.gather(0)
        assert drain_calls(rank.rank) == ["start", f"gather {small} float32", "end"]
        rank.gather(2, torch.bfloat16)
        assert drain_calls(rank.rank) == ["start", f"gather {large} bfloat16", "end"]
        rank.release(0)
        rank.release(2)
        assert drain_calls(rank.rank) == []
        ops.prefetch_params_fused(rank.graph, [], [0, 1, 2])
        assert drain_calls(rank.rank) == ["start", f"gather {small} float32", f"gather {large} float32", "end"]

        ops.start_backward(True)
        for id, elements in enumerate((5, 0, 9)):
            rank.reduce(id, torch.ones(elements))
        rank.end_backward()
        # Divided before, hence a sum.
        assert drain_calls(rank.rank) == ["start", f"reduce {small} float32 sum", f"reduce {large} float32 sum", "end"]

    run(size, test)
    assert [drain_calls(rank) for rank in range(size)] == [["destroy"]] * size


def test_without_pre_division_the_mean_is_asked_for():
    def test(rank: Rank):
        rank.add(0, numbered((4,)))
        rank.graph_of(0)
        drain_calls(rank.rank)
        ops.start_backward(True)
        rank.reduce(0, torch.full((4,), float(rank.rank)))
        rank.end_backward()
        assert drain_calls(rank.rank) == ["start", "reduce 2 float32 mean", "end"]
        assert rank.gradients[0].tolist() == [0.5, 0.5]

    run(2, test, pre_divides=False)


# Simulated ranks get the data of the others and run in one order, in worlds of 64 at most; NCCL does none of this.
OF_SIMULATED_RANKS = (
    "differ or different or does_not_leave or leaves_a_state_in_which or in_one_order or world_of_64 or c_plus_plus"
)


def test_what_holds_on_simulated_ranks_holds_over_nccl():
    files = [recorded.ROOT / "tests" / f"executor_{name}_test.py" for name in recorded.some(["cycle", "reduce", "life"], 2)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-p", "nccl_ranks"]
    done = subprocess.run(
        [*command, "-k", f"not ({OF_SIMULATED_RANKS})", *files],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]


def test_training_over_nccl_has_the_bits_of_simulated_ranks():
    options = ("--steps", "2", "--layers", "1", "--ranks", "3", "--prefetch", "1", "--bucket", "700")
    over_nccl = [sys.executable, "-m", "nccl_ranks", *options]
    simulated = [sys.executable, "-m", "dcmt_zero3.train", *options]
    results = []
    for command in (over_nccl, simulated):
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    assert results[0] == results[1]


# --- symmetric memory ---


def test_where_there_is_no_symmetric_memory_init_says_so(alone):
    ops.cleanup()
    message = failure(lambda: ops.init_nccl(ops.nccl_unique_id(), 0, 1, "cpu", 64, symmetric_group="nobody"))
    assert "init_nccl: the communicator has ended: symmetric memory: " in message
    assert drain_calls()[-1] == "abort"


def run_with_windows(size: int, test, monkeypatch) -> None:
    torch.ops.load_library(recorded.BUILD / "lib" / "tests" / "libdcmt_test_windows.so")

    def init(world: int, rank: int, size: int, **options) -> None:
        nccl_ranks.init(world, rank, size, symmetric_group=f"{world}:{size}:{rank}", **options)

    monkeypatch.setattr(ops, "init_simulated", init)
    run(size, test)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_gathers_through_windows_have_the_same_values_and_reductions_go_over_nccl(monkeypatch, size):
    def test(rank: Rank):
        for id, elements in enumerate((5, 0, 1000)):
            rank.add(id, numbered((elements,)))
        rank.graph_of(0, 1, 2)
        for _ in range(50):  # another value in a window every time
            ops.prefetch_params_fused(rank.graph, [], [0, 1, 2], [torch.float32, torch.float32, torch.bfloat16])
            assert torch.equal(rank.gather(0), numbered((5,)))
            assert torch.equal(rank.gather(2, torch.bfloat16), numbered((1000,), torch.bfloat16))
            for id in (0, 1, 2):
                rank.release(id)
        ops.start_backward(True)
        rank.reduce(0, torch.full((5,), float(rank.rank)))
        rank.end_backward()
        assert torch.equal(rank.gradients[0], rank.shard_of(torch.full((5,), (size - 1) / 2)).clamp(min=0))
        calls = [call for call in drain_calls(rank.rank) if call != "id"]
        assert calls == [f"init {size}", "start", f"reduce {-(-5 // size)} float32 sum", "end"]

    run_with_windows(size, test, monkeypatch)


# --- errors ---


@pytest.mark.parametrize("result", [nccl_ranks.INVALID_ARGUMENT, nccl_ranks.INVALID_USAGE])
@pytest.mark.parametrize("function", ["ncclGroupStart", "ncclAllGather", "ncclGroupEnd"])
def test_after_an_error_of_arguments_the_group_is_closed_and_the_next_gather_works(alone, function, result):
    fail_next(function, result)
    message = failure(lambda: ops.prefetch_params_fused(alone.graph, [], [0, 1]))
    assert f"prefetch_params_fused (graph {alone.graph}): NCCL: " in message
    assert ("(details of ncclAllGather)" in message) == (function == "ncclAllGather")
    both = ["gather 5 float32", "gather 3 float32"]
    # A group that was not opened is not closed; what comes after an error is not launched.
    asked = {"ncclGroupStart": [], "ncclAllGather": [*both[:1], "end"], "ncclGroupEnd": [*both, "end"]}[function]
    assert drain_calls() == ["start", *asked]
    assert not ops.is_valid(0) and not ops.is_valid(1) and ops.gathered_buffers(0) == []
    assert torch.equal(alone.gather(0), numbered((5,)))
    assert drain_calls() == ["start", "gather 5 float32", "end"]


@pytest.mark.parametrize("result", [nccl_ranks.SYSTEM_ERROR, nccl_ranks.INTERNAL_ERROR])
@pytest.mark.parametrize("function", ["ncclGroupStart", "ncclReduceScatter", "ncclGroupEnd"])
def test_any_other_error_ends_the_communicator_and_collectives_say_so(alone, function, result):
    alone.gather(1)
    drain_calls()
    ops.start_backward(True)
    alone.reduce(0, torch.ones(5))
    fail_next(function, result)
    message = failure(alone.end_backward)
    assert f"end_backward (graph {alone.graph}): NCCL: " in message
    calls = drain_calls()
    assert calls[0] == "start" and calls[-1] == "abort" and ("end" in calls) == (function != "ncclGroupStart")
    text = "the communicator has ended: NCCL: "
    assert text in failure(lambda: alone.gather(0)) and text in failure(lambda: ops.gather_across(torch.ones(1)))
    alone.release(1)  # needs no communication
    assert drain_calls() == []

    ops.cleanup()
    assert drain_calls() == [], "an aborted communicator is gone"
    ops.init_nccl(ops.nccl_unique_id(), 0, 1, "cpu", bucket_elements=64)
    again = Rank(0)
    again.add(0, numbered((5,)))
    again.graph_of(0)
    assert torch.equal(again.gather(0), numbered((5,)))


def test_a_rank_whose_communicator_ends_ends_those_of_the_others():
    messages = {}

    def test(rank: Rank):
        rank.add(0, numbered((5,)))
        rank.graph_of(0)
        if rank.rank == 1:
            fail_next("ncclAllGather", nccl_ranks.INTERNAL_ERROR, 1)
        messages[rank.rank] = [failure(lambda: rank.gather(0)) for _ in range(2)]

    run(3, test)
    for first, second in messages.values():
        assert "NCCL: internal error" in first and "the communicator has ended" in second
    for rank in range(3):
        calls = drain_calls(rank)
        assert calls[-2:] == ["end", "abort"] and calls.count("start") == calls.count("end")


@pytest.mark.parametrize("function", ["ncclGetUniqueId", "ncclCommInitRank"])
def test_an_error_before_there_is_a_communicator_names_the_function(function):
    unique_id = ops.nccl_unique_id()
    drain_calls()
    fail_next(function, nccl_ranks.SYSTEM_ERROR)

    def join():
        ops.nccl_unique_id()
        ops.init_nccl(unique_id, 0, 1, "cpu", bucket_elements=64)

    assert f"{function}: system error" in failure(join)
    with pytest.raises(RuntimeError, match="this thread is no rank"):
        ops.rank()
    drain_calls()
    join()
    ops.cleanup()
    assert drain_calls() == ["id", "init 1", "destroy"]


def test_what_is_wrong_with_a_call_is_said_before_nccl_is_asked(alone):
    unique_id = torch.zeros(128, dtype=torch.uint8)
    assert "this thread is a rank already" in failure(lambda: ops.init_nccl(unique_id, 0, 1, "cpu", 64))
    assert "from Bool to Bool is nothing that NCCL does" in failure(
        lambda: ops.gather_across(torch.ones(1, dtype=torch.bool))
    )
    assert "a tensor is on meta, not on cpu" in failure(lambda: ops.gather_across(torch.ones(1, device="meta")))
    ops.cleanup()
    drain_calls()
    assert "128 bytes, on the CPU" in failure(lambda: ops.init_nccl(unique_id[1:], 0, 1, "cpu", 64))
    assert "rank 2 is not one of 2" in failure(lambda: ops.init_nccl(unique_id, 2, 2, "cpu", 64))
    assert "a rank has a GPU of its own, whose number is needed" in failure(lambda: ops.init_nccl(unique_id, 0, 1, "cuda", 64))
    assert drain_calls() == []


@pytest.mark.parametrize("library", ["/nowhere/libnccl.so.2", "libm.so.6"])
def test_without_nccl_one_line_says_what_is_missing(library):
    """No such file, and one that is not NCCL."""
    program = "from dcmt_zero3 import ops\nfor _ in range(2):\n try: ops.nccl_unique_id()\n except RuntimeError as e: print(e)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**ENVIRONMENT, "DCMT_NCCL_LIBRARY": library}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = (line for line in done.stdout.splitlines() if "there is no NCCL" in line)
    assert first == second and library in first
    assert ("ncclGetUniqueId" in first) == (library == "libm.so.6")
