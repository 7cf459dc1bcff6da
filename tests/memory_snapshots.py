"""Memory snapshots of torch, made without a GPU: a small caching allocator that keeps torch's books, and a second reader."""

from __future__ import annotations

import random
from collections import Counter

SEGMENT = 1 << 21


class Allocator:
    """Allocates in Python as torch's caching allocator reports it, with the counters of memory_stats."""

    def __init__(self, seed: int, device: int = 0, waits: float = 0.2) -> None:
        self.random = random.Random(seed)
        self.waits = waits
        self.device = device
        self.history: list[dict] = []
        self.live: list[dict] = []
        self.pending: list[dict] = []
        self.segments: dict[int, int] = {}
        self.time = 1_700_000_000_000_000
        self.next_address = 0x7F00_0000_0000 + (device << 36)
        self.free_addresses: list[int] = []
        self.requested: list[int] = []  # allocated bytes after each entry
        self.active: list[int] = []  # allocated bytes and those that wait for a stream
        self.reserved: list[int] = []
        self.frames = {
            line: [{"name": f"layer{line}", "filename": "/home/user/train.py", "line": line},
                   {"name": "<module>", "filename": "/home/user/train.py", "line": 3}]
            for line in range(10, 18)
        }

    def entry(self, action: str, address: int, size: int, stream: int = 0, **more: object) -> None:
        self.time += self.random.randrange(3)
        frames = self.random.choice(list(self.frames.values()))
        self.history.append({"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.time,
                             "compile_context": "N/A", "user_metadata": "", "frames": frames, **more})
        self.requested.append(sum(block["size"] for block in self.live))
        self.active.append(self.requested[-1] + sum(block["size"] for block in self.pending))
        self.reserved.append(sum(self.segments.values()))

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.5 or not self.live:
            self.allocate(self.random.randrange(1, SEGMENT))
        elif choice < 0.9:
            self.free(self.live.pop(self.random.randrange(len(self.live))), self.random.random() < self.waits)
        elif self.pending:
            block = self.pending.pop(0)
            self.complete(block)
        elif not self.live:
            self.empty_cache()

    def allocate(self, size: int) -> None:
        if self.free_addresses:
            address = self.free_addresses.pop(self.random.randrange(len(self.free_addresses)))
        else:
            address = self.next_address
            self.next_address += SEGMENT
            self.segments[address] = SEGMENT
            self.entry("segment_alloc", address, SEGMENT)
        block = {"addr": address, "size": size, "stream": self.random.choice([0, 0, 0, 94_000_000_000_000])}
        self.live.append(block)
        self.entry("alloc", address, size, block["stream"])
        block["frames"] = self.history[-1]["frames"]

    def free(self, block: dict, waits: bool) -> None:
        self.pending.append(block)
        self.entry("free_requested", block["addr"], block["size"], block["stream"])
        if not waits:
            self.pending.remove(block)
            self.complete(block)

    def complete(self, block: dict) -> None:
        self.free_addresses.append(block["addr"])
        self.entry("free_completed", block["addr"], block["size"], block["stream"])

    def empty_cache(self) -> None:
        for address in self.free_addresses:
            del self.segments[address]
            self.entry("segment_free", address, SEGMENT)
        self.free_addresses.clear()

    def run(self, steps: int) -> Allocator:
        for _ in range(steps):
            self.step()
        return self

    def snapshot_segments(self) -> list[dict]:
        states = {block["addr"]: ("active_allocated", block) for block in self.live}
        states |= {block["addr"]: ("active_pending_free", block) for block in self.pending}
        segments = []
        for address, size in self.segments.items():
            state, block = states.get(address, ("inactive", {"size": 0, "frames": []}))
            rounded = (block["size"] + 511) // 512 * 512
            blocks = [{"address": address, "size": rounded, "requested_size": block["size"], "state": state,
                       "frames": block["frames"]}] if state != "inactive" else []
            if rounded < size:
                blocks.append({"address": address + rounded, "size": size - rounded, "requested_size": 0,
                               "state": "inactive", "frames": []})
            segments.append({"device": self.device, "address": address, "total_size": size, "stream": 0,
                             "segment_type": "large", "allocated_size": rounded, "active_size": rounded,
                             "requested_size": block["size"], "segment_pool_id": (0, 0), "is_expandable": False,
                             "frames": [], "blocks": blocks})
        return segments


def snapshot(*allocators: Allocator, cut: int = 0) -> dict:
    """In the form of torch.cuda.memory._snapshot(). The first `cut` entries of each history have left the ring buffer."""
    return {"segments": [segment for each in allocators for segment in each.snapshot_segments()],
            "device_traces": [each.history[cut:] for each in allocators],
            "allocator_settings": {"max_split_size": -1, "roundup_power2_divisions": {"1": 0}},
            "external_annotations": []}


def as_the_viewer_draws_it(data: dict, device: int) -> list[int]:
    """Active bytes after each entry of the history, by the rules of torch's viewer: an allocation that the history does
    not have was there from the start, and it ends when it is completed."""
    entries = data["device_traces"][device]
    birth: dict[int, int] = {}
    changes: Counter[int] = Counter()
    start = 0
    for number, entry in enumerate(entries):
        if entry["action"] == "alloc":
            birth[entry["addr"]] = number
            changes[number] += entry["size"]
        elif entry["action"] == "free_completed":
            changes[number] -= entry["size"]
            if birth.pop(entry["addr"], None) is None:
                start += entry["size"]
    for segment in data["segments"]:
        for block in segment["blocks"]:
            if segment["device"] == device and block["state"] == "active_allocated" and block["address"] not in birth:
                start += block["requested_size"]
    curve = []
    for number in range(len(entries)):
        start += changes[number]
        curve.append(start)
    return curve
