"""Uses torch's CUDA allocator in many ways, one kind after the other in one process, and writes at each mark what torch
itself counts, to a file of JSON.

usage: allocator_kinds.py OUT.json KIND[:SEED]...
"""

from __future__ import annotations

import gc
import json
import pathlib
import random
import sys
import threading

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
COUNTS = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes")
marks: list[dict] = []


def mark(name: str) -> None:
    stats = torch.cuda.memory_stats()
    counts = {count: stats[f"{count}.all.current"] for count in COUNTS}
    counts |= {"reserved_peak": stats["reserved_bytes.all.peak"], "allocated_peak": stats["allocated_bytes.all.peak"]}
    marks.append({"mark": name, **counts})
    dc_memtrace.mark(name)


def block(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def some_size(rng: random.Random, most: int = 200 * MIB) -> int:
    size = int(2 ** rng.uniform(0, most.bit_length()))
    return max(1, min(most, size if rng.random() < 0.7 else size // (2 * MIB) * 2 * MIB or size))


def churn(rng: random.Random, count: int, live: int, most: int = 200 * MIB) -> None:
    """Blocks of any size, freed in any order."""
    blocks: list[torch.Tensor] = []
    for at in range(count):
        if blocks and (len(blocks) >= live or rng.random() < 0.35):
            del blocks[rng.randrange(len(blocks))]
        blocks.append(block(some_size(rng, most)))
        if at % (count // 4) == 0:
            mark(f"churn {at}")


def sizes(rng: random.Random) -> None:
    churn(rng, 600, 60)


def many_small(rng: random.Random) -> None:
    churn(rng, 1500, 400, 3 * MIB)


def streams(rng: random.Random) -> None:
    """Blocks of several streams, some used on others."""
    all_streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    blocks: list[torch.Tensor] = []
    for at in range(400):
        with torch.cuda.stream(rng.choice(all_streams)):
            blocks.append(block(some_size(rng, 100 * MIB)))
            blocks[-1][:1].zero_()
        other = rng.choice(all_streams)
        if rng.random() < 0.4:
            used = rng.choice(blocks)
            with torch.cuda.stream(other):
                torch.cuda._sleep(rng.randrange(1, 2_000_000))
            used.record_stream(other)
        while len(blocks) > 30:
            del blocks[rng.randrange(len(blocks))]
        if at % 100 == 0:
            mark(f"streams {at}")
    del blocks
    torch.cuda.synchronize()


def growing_shapes(rng: random.Random) -> None:
    """A training whose batches have another length each."""
    torch.manual_seed(rng.randrange(1000))
    model = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0.0), 3, enable_nested_tensor=False
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for at in range(8):
        x = torch.randn(8, rng.randrange(64, 900), 256, device="cuda")
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mark(f"length {at}")


def training(rng: random.Random) -> None:
    torch.manual_seed(rng.randrange(1000))
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(1500, 1500), torch.nn.GELU()) for _ in range(8)])
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for at in range(6):
        model(torch.randn(rng.choice((1000, 3000)), 1500, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=at % 2 == 0)
        mark(f"step {at}")


def cache(rng: random.Random) -> None:
    """Caches of an inference that grow by concatenation."""
    keys = [torch.randn(4, 8, 10, 64, device="cuda") for _ in range(8)]
    for at in range(60):
        for layer, key in enumerate(keys):
            keys[layer] = torch.cat([key, torch.randn(4, 8, rng.randrange(1, 60), 64, device="cuda")], dim=2)
        if at % 20 == 0:
            mark(f"token {at}")


def checkpointed(rng: random.Random) -> None:
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(rng.randrange(1000))
    layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(),
                                                      torch.nn.Linear(4096, 1024)) for _ in range(6)]).cuda()
    for at in range(4):
        x = torch.randn(rng.randrange(500, 4000), 1024, device="cuda", requires_grad=True)
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False)
        x.square().mean().backward()
        mark(f"checkpointed {at}")


def emptied(rng: random.Random) -> None:
    """The cache is given back again and again."""
    kept: list[torch.Tensor] = []
    for at in range(12):
        now = [block(some_size(rng)) for _ in range(15)]
        kept.append(rng.choice(now))
        del now
        torch.cuda.empty_cache()
        mark(f"emptied {at}")


def graphs(rng: random.Random) -> None:
    """Two graphs, one after the other in a pool that they share, and a third in its own; then they end."""
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
    static = torch.randn(1024, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(static).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    mark("warm")
    pool = torch.cuda.graph_pool_handle()
    captured = []
    for given in (pool, pool, None):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=given):
            y = model(static)
            loss = (y @ y.T).relu().square().mean()
        captured.append((graph, loss))
        mark("captured")
    for graph, _ in captured:
        graph.replay()
    churn(rng, 40, 10)
    mark("replayed")
    del graph, loss, y, captured
    gc.collect()
    torch.cuda.synchronize()
    mark("graphs gone")
    torch.cuda.empty_cache()
    mark("graphs emptied")


def mem_pools(rng: random.Random) -> None:
    pools = [torch.cuda.MemPool(), torch.cuda.MemPool()]
    kept = []
    for at in range(6):
        with torch.cuda.use_mem_pool(rng.choice(pools)):
            kept += [block(some_size(rng, 60 * MIB)) for _ in range(8)]
        kept += [block(some_size(rng, 60 * MIB)) for _ in range(4)]
        rng.shuffle(kept)
        del kept[:6]
        mark(f"pools {at}")
    del kept[::2]
    del pools
    gc.collect()
    torch.cuda.empty_cache()
    mark("pools gone")


def limited(rng: random.Random) -> None:
    """Out of memory by the process's share, caught, three times; then the program goes on."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2 * GIB) / total)
    for at in range(3):
        kept = []
        try:
            while True:
                kept.append(block(some_size(rng, 300 * MIB)))
                if rng.random() < 0.3:
                    del kept[rng.randrange(len(kept))]
        except torch.cuda.OutOfMemoryError:
            mark(f"limited {at}")
        del kept[rng.randrange(1, 4):]
        churn(rng, 24, 6, 100 * MIB)
        del kept
    torch.cuda.set_per_process_memory_fraction(1.0)


def full_device(rng: random.Random) -> None:
    """Out of memory of the whole device, caught."""
    kept = []
    try:
        while True:
            kept.append(block(rng.randrange(1, 5) * GIB + some_size(rng)))
            if rng.random() < 0.2:
                del kept[rng.randrange(len(kept))]
    except torch.cuda.OutOfMemoryError:
        mark("full")
    del kept[::2]
    again = [block(3 * GIB), block(some_size(rng))]
    mark("recovered")
    del kept, again
    torch.cuda.empty_cache()


def threads(rng: random.Random) -> None:
    """Two threads with a stream each, in turn."""
    turn = threading.Semaphore(1)

    def work(seed: int) -> None:
        own = random.Random(seed)
        kept = []
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                with turn:
                    kept.append(block(some_size(own, 30 * MIB)))
                    if len(kept) > 12:
                        del kept[own.randrange(len(kept))]

    workers = [threading.Thread(target=work, args=(rng.randrange(1000),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    mark("threads")


def pinned_between(rng: random.Random) -> None:
    """Small blocks that stay keep large segments: each large one is freed, the small one cut from it is not."""
    kept = []
    for _ in range(12):
        large = block(rng.randrange(30, 90) * MIB)
        del large
        kept.append(block(rng.randrange(2, 5) * MIB))
    mark("pinned")
    rest = [block(85 * MIB) for _ in range(4)]
    mark("beside")
    del rest, kept


KINDS = {each.__name__: each for each in (sizes, many_small, streams, growing_shapes, training, cache, checkpointed,
                                          emptied, graphs, mem_pools, limited, full_device, threads, pinned_between)}


def main() -> None:
    for argument in sys.argv[2:]:
        name, _, seed = argument.partition(":")
        KINDS[name](random.Random(f"{name} {seed}"))
        mark(f"{argument} done")
    snapshot = [{key: segment[key] for key in ("address", "total_size", "allocated_size", "active_size",
                                               "requested_size", "stream", "segment_pool_id", "is_expandable")}
                for segment in torch.cuda.memory_snapshot()]
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"marks": marks, "segments": snapshot}))


if __name__ == "__main__":
    main()
