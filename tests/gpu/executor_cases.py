"""What holds of the executor on GPUs, whether its ranks are simulated on one GPU or processes with a GPU each.

    torchrun --nproc-per-node 2 executor_cases.py [--symmetric] NAME...        # PYTHONPATH=tests

A case is a function of a rank. Consumers are kept waiting by kernels that sleep, so that what is not ordered goes wrong. That
they still wait when the order matters is a premise that is checked. What is used for the first time (a kernel, a stream,
a pool of the allocator, a connection) may make the host wait for the device: such a case runs once before it counts.
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed
from zero3_ranks import NOWHERE, Rank, gathers, nbytes, numbered, ops, padded, world

TIMES = 1000
LONG, SHORT = 1_000_000_000, 1_000_000  # cycles: some 500 ms and 500 us
BLOCK = 512  # the allocator's granularity


def on_gpu(full: torch.Tensor) -> torch.Tensor:
    return full.to("cuda")


def block_bytes(bytes: int) -> int:
    return -(-bytes // BLOCK) * BLOCK


def counting(elements: int) -> torch.Tensor:
    return on_gpu(torch.arange(elements, dtype=torch.float32))


def full_of(value: float, elements: int) -> torch.Tensor:
    return on_gpu(torch.full((elements,), float(value)))


def what_a_gather_returns(rank: Rank) -> None:
    """I1 to I5, I17, on shapes that need padding and dtypes of all widths."""
    cases = [((4097,), torch.float32), ((3, 5), torch.bfloat16), ((1,), torch.int64), ((0,), torch.float32)]
    for id, (shape, dtype) in enumerate(cases):
        rank.add(id, on_gpu(numbered(shape, dtype)))
    rank.graph_of(*range(len(cases)))
    for id, (shape, dtype) in enumerate(cases):
        weight = rank.wait(rank.gather(id), id)
        wanted = on_gpu(numbered(shape, dtype))
        assert torch.equal(weight, wanted) and weight.device == wanted.device
        assert nbytes(weight) == padded(weight.numel(), rank.size) * dtype.itemsize
        before = gathers()
        assert rank.gather(id).data_ptr() == weight.data_ptr() and gathers() == before
        rank.release(id)
        assert gathers() == before
        assert torch.equal(rank.wait(rank.gather(id), id), wanted) and gathers() == before + 1
        rank.release(id)


def single_use(rank: Rank) -> None:
    """T1: 16,392 bytes, then none, whoever has an alias; and the allocator has them back at once."""
    assert rank.size == 2
    rank.add(0, counting(4097))
    rank.graph_of(0)
    weight = rank.wait(rank.gather(0), 0)
    alias = weight.view(17, 241)
    assert nbytes(weight) == nbytes(alias) == 16_392
    torch.cuda.synchronize()
    allocated, active = torch.cuda.memory_allocated(), torch.cuda.memory_stats()["active_bytes.all.current"]
    rank.release(0)
    assert nbytes(weight) == nbytes(alias) == 0
    assert allocated - torch.cuda.memory_allocated() == block_bytes(16_392)
    assert active - torch.cuda.memory_stats()["active_bytes.all.current"] == block_bytes(16_392)
    assert ops.gathered_buffers(0) == [] and not ops.is_valid(0)


def two_uses(rank: Rank) -> None:
    """T2: 16 bytes, unchanged by the first release, none after the second; and again."""
    assert rank.size == 2
    rank.add(0, counting(3))
    rank.graph_of(0)
    for _ in range(2):
        weight = rank.wait(rank.gather(0), 0)
        address = weight.data_ptr()
        assert nbytes(weight) == 16
        rank.release(0, 2)
        assert nbytes(weight) == 16 and weight.data_ptr() == address and torch.equal(weight, counting(3))
        rank.release(0, 2)
        assert nbytes(weight) == 0


def persistent(rank: Rank) -> None:
    """T3: the same address and bytes after any number of releases."""
    rank.add(0, counting(4), persistent=True)
    rank.graph_of(0)
    weight = rank.wait(rank.gather(0), 0)
    address, bytes = weight.data_ptr(), nbytes(weight)
    for _ in range(3):
        rank.release(0)
        assert rank.wait(rank.gather(0), 0).data_ptr() == address and nbytes(weight) == bytes == 16
        assert torch.equal(weight, counting(4))


def all_have_come() -> None:
    """The hosts of simulated ranks, of which one runs at a time, meet here; nobody waits for the device."""
    ops.gather_across(torch.empty(1, device="cuda"))


def consumed_late(rank: Rank, cycles: int, consumer: torch.cuda.Stream) -> torch.Tensor:
    """The sum over the first 4,096 elements of parameter 0, which another stream will have after a while."""
    weight = rank.gather(0)
    consumer.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(consumer):
        rank.wait(weight, 0)
        torch.cuda._sleep(cycles)
        total = weight[:4096].sum()
        rank.release(0)
    return total


def consumer_on_another_stream(rank: Rank) -> None:
    """T4: its sum is not changed by what is written meanwhile, on the program's stream and into the same memory."""
    rank.add(0, counting(4097))
    rank.add(1, full_of(17, 4097))
    rank.graph_of(0, 1)
    consumer = torch.cuda.Stream()
    for cycles in (SHORT, LONG):
        address = rank.gather(0).data_ptr()
        total = consumed_late(rank, cycles, consumer)
        scratch = torch.full((padded(4097, rank.size) + 1024,), 17.0, device="cuda")
        second = rank.gather(1)
        late, same = not consumer.query(), second.data_ptr() == address
        all_have_come()
        consumer.synchronize()
        assert total.item() == 8_386_560
        assert torch.equal(rank.wait(second, 1), full_of(17, 4097)) and scratch.sum().item() == 17 * scratch.numel()
        rank.release(1)
    assert late, "the premise: the consumer has not begun when others have been given the memory"
    assert same, "the premise: the memory has a new owner"


def i26_consumers_on_other_streams(rank: Rank) -> None:
    rank.add(0, counting(4097))
    rank.add(1, full_of(17, 4097))
    rank.graph_of(0, 1)
    consumers = [torch.cuda.Stream() for _ in range(2)]
    totals, late = [], 0
    for time in range(TIMES):
        consumer = consumers[time % 2]
        totals.append(consumed_late(rank, SHORT, consumer))
        late += not consumer.query()
        torch.full((padded(4097, rank.size) + 1024,), 17.0, device="cuda")
        rank.gather(1)
        rank.release(1)
    torch.cuda.synchronize()
    assert late > TIMES // 2, "the premise: consumers come late"
    assert [total.item() for total in totals] == [8_386_560] * TIMES


def i25_prefetched_and_never_waited_for(rank: Rank) -> None:
    """What is given back before anybody waited for it harms neither those who get its memory nor the shard."""
    elements = 4097
    rank.add(0, counting(elements))
    rank.add(1, counting(elements))
    rank.graph_of(0, 1)
    scratches, totals = [], []
    for time in range(TIMES):
        torch.cuda._sleep(SHORT // 3)
        ops.prefetch_params_fused(rank.graph, [rank.shards[0]], [0])
        rank.release(0)
        scratches.append(torch.full((padded(elements, rank.size),), float(time % 7), device="cuda").sum())
        totals.append(rank.wait(rank.gather(1), 1).sum())
        rank.release(1)
    # The optimizer changes the shard while a prefetch that nobody waits for has not read it.
    ops.start_backward(True)
    torch.cuda._sleep(LONG)
    awake = torch.cuda.Event()
    awake.record()
    ops.prefetch_params_fused(rank.graph, [rank.shards[0]], [0])
    rank.end_backward()
    rank.shards[0].fill_(-1)
    late = not awake.query()
    all_have_come()
    (prefetched,) = ops.gathered_buffers(0)
    torch.cuda.synchronize()
    assert late, "the premise: the shard is changed while the prefetch waits"
    assert torch.equal(prefetched[:elements], counting(elements))
    assert [one.item() for one in scratches] == [time % 7 * padded(elements, rank.size) for time in range(TIMES)]
    assert [one.item() for one in totals] == [counting(elements).sum().item()] * TIMES


def i27_refilled_while_earlier_consumers_wait(rank: Rank) -> None:
    elements = 4096
    rank.add(0, full_of(0, elements), persistent=True)
    rank.graph_of(0)
    weight = rank.wait(rank.gather(0), 0)
    address, totals, late = weight.data_ptr(), [], 0
    for time in range(TIMES):
        rank.shards[0].fill_(time + 1)  # there before the consumer begins
        torch.cuda._sleep(SHORT)
        totals.append(weight.sum())
        read = torch.cuda.Event()
        read.record()
        ops.start_backward(True)
        rank.end_backward()
        weight = rank.gather(0)
        late += not read.query()
        assert weight.data_ptr() == address
        rank.wait(weight, 0)
    torch.cuda.synchronize()
    assert late > TIMES // 2, "the premise: the refill is launched while the consumer waits"
    assert [total.item() for total in totals] == [time * elements for time in range(TIMES)]
    assert torch.equal(weight, full_of(TIMES, elements))


def i31_gradients_dropped_at_once(rank: Rank) -> None:
    """Their memory is written again as soon as the program may; the partitions have the means."""
    elements = 4097
    rank.add(0, counting(elements))
    rank.add(1, counting(elements))
    rank.graph_of(0, 1)
    for time in range(100):
        ops.start_backward(True)
        for id in (0, 1):
            gradient = full_of(0, elements)
            torch.cuda._sleep(SHORT)
            gradient += (rank.rank + 1) * (time + id + 1)
            rank.reduce(id, gradient)
            del gradient
            full_of(-1, elements)
        rank.end_backward()
        mean = sum(range(1, rank.size + 1)) / rank.size
        for id in (0, 1):
            wanted = rank.shard_of(full_of(mean * (time + id + 1), elements))
            wanted[wanted == -1] = 0  # the padding
            assert torch.equal(rank.gradients[id], wanted), (time, id)


def i35_activations_go_to_pinned_memory_and_back(rank: Rank) -> None:
    rank.graph_of()
    addresses = set()
    for time in range(200):
        activation = full_of(time, 100_000)
        torch.cuda._sleep(SHORT // 3)
        activation += 1
        host = ops.offload_tensor(activation, rank.graph, 0)
        assert host.is_pinned()
        addresses.add(host.data_ptr())
        ops.wait_offload(activation, rank.graph, 0)
        del activation
        full_of(-1, 100_000)
        ops.reload_tensor(NOWHERE, rank.graph, 0)
        back = ops.wait_reload(NOWHERE, rank.graph, 0)
        assert torch.equal(back, full_of(time + 1, 100_000)) and back.is_cuda
    assert len(addresses) == 1


def i36_shards_go_to_the_host_and_back(rank: Rank) -> None:
    """Two at once, in turns: what one leaves is what the other one gets."""
    shards = {}
    for id in (0, 1):
        shards[id] = rank.shard_of(torch.arange(100_000, dtype=torch.float32) + id).pin_memory()
        ops.register_param(id, [100_000], shards[id], torch.zeros_like(shards[id], device="cuda"))
    rank.graph_of(0, 1)
    for _ in range(100):
        for id in (0, 1):
            ops.reload_parameter(NOWHERE, rank.graph, id)
            weight = rank.wait(rank.gather(id), id)
            ops.offload_parameter(NOWHERE, rank.graph, id)
            ops.reload_parameter(NOWHERE, rank.graph, 1 - id)
            assert torch.equal(weight, counting(100_000) + id)
            rank.release(id)
            ops.offload_parameter(NOWHERE, rank.graph, 1 - id)
    torch.cuda.synchronize()
    for id in (0, 1):
        assert torch.equal(shards[id], rank.shard_of(torch.arange(100_000, dtype=torch.float32) + id))


def errors_leave_a_usable_state(rank: Rank) -> None:
    """C.11: they name the operator, the graph and the parameter; the next collective works."""
    rank.add(0, counting(25))
    shard = rank.shard_of(numbered((25,)).float())
    ops.register_param(1, [25], shard.pin_memory(), None)
    rank.graph_of(0, 1)
    for _ in range(3):
        message = failure(lambda: rank.gather(1))
        assert f"allgather_param (graph {rank.graph}, parameter 1)" in message and "reload it first" in message
        message = failure(lambda: ops.prefetch_params_fused(rank.graph, [], [0, 1]))
        assert f"prefetch_params_fused (graph {rank.graph})" in message
        assert not ops.is_valid(0) and not ops.is_valid(1)
        message = failure(lambda: ops.register_param(2, [25], full_of(0, len(shard) + rank.rank), None))
        assert f"rank 1 has a shard of {len(shard) + 1} elements" in message
        assert torch.equal(rank.wait(rank.gather(0), 0), counting(25))
        rank.release(0)
        ops.reload_parameter(NOWHERE, rank.graph, 1)
        assert torch.equal(rank.wait(rank.gather(1), 1), on_gpu(numbered((25,))))
        rank.release(1)
        ops.offload_parameter(NOWHERE, rank.graph, 1)
        assert torch.equal(ops.gather_across(full_of(rank.rank, 2)).cpu(), numbered((rank.size, 1)).expand(-1, 2) - 1)


def failure(call) -> str:
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it should fail")


CASES = {
    case.__name__: case
    for case in (
        what_a_gather_returns, single_use, two_uses, persistent, consumer_on_another_stream,
        i25_prefetched_and_never_waited_for, i26_consumers_on_other_streams,
        i27_refilled_while_earlier_consumers_wait, i31_gradients_dropped_at_once,
        i35_activations_go_to_pinned_memory_and_back, i36_shards_go_to_the_host_and_back, errors_leave_a_usable_state,
    )
}  # fmt: skip


def main() -> None:
    """One case after another in worlds of their own, over one process group."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("gloo")
    symmetric = sys.argv[1] == "--symmetric"
    for name in sys.argv[1 + symmetric :]:
        world.join_processes(torch.distributed.group.WORLD, device, symmetric)
        CASES[name](Rank(torch.distributed.get_rank()))
        ops.cleanup()
        print(f"passed: {name}", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
