"""Programs whose steps are reproduced: how parameters may be gathered, shared, released and read."""

from __future__ import annotations

import recorded
from replays import RELEASE, TENSOR_ONLY, TRAIN

SKIPPED = recorded.ROOT / "samples" / "zero3_skipped_frame" / "train.py"
OFFLOAD = recorded.ROOT / "samples" / "zero3_offload" / "train.py"
HEALTHY = recorded.ROOT / "tests" / "healthy" / "run.py"
FLAT_BUFFER = """
import torch, dc_memtrace as dm
pool = torch.empty(100_000)
for key in (1, 2, 1, 2):
    weight = pool.view(100, 1000)
    dm.gather(key, weight)
    weight.mul_(2)
    del weight
    with dm.release(key):
        pass
    torch.ones(2)
"""
TYPES = """
import torch, dc_memtrace as dm
def main():
    types = [value for value in vars(torch).values() if isinstance(value, torch.dtype) and not value.is_complex]
    for key, dtype in enumerate(sorted(set(types), key=str)):
        try:
            weight = torch.empty(16_000, dtype=torch.int8).view(dtype)
        except RuntimeError:
            continue  # of less than a byte, or quantized
        print(str(dtype).removeprefix("torch."))
        dm.gather(key, weight)
        dm.release(key)
        torch.ones(2)
main()
"""
GOES_IN_THE_LAST_OPERATOR = """
import torch, dc_memtrace as dm
held = {}
lib = torch.library.Library("my", "DEF")
lib.define("finish(Tensor t) -> Tensor")
def finish(t):
    result = t.clone()
    held.clear()
    return result
lib.impl("finish", finish, "CPU")
held[1] = torch.empty(20_000)
dm.gather(1, held[1])
torch.ops.my.finish(torch.ones(2))
"""
CUT_OFF = """
import os, signal, torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    os.kill(os.getpid(), signal.SIGKILL)
main()
"""
HELD_BY_A_THREAD = """
import threading, torch, dc_memtrace as dm
done, leave = threading.Event(), threading.Event()
def work():
    weight = torch.empty(30_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    done.set()
    leave.wait()
thread = threading.Thread(target=work)
thread.start()
done.wait()
for key in range(20, 220):
    weight = torch.empty(20_000)
    dm.gather(key, weight)
    with dm.release(key):
        weight.untyped_storage().resize_(0)
    torch.ones(2)
dm.step(0)
leave.set()
thread.join()
"""
GOES_ON_ANOTHER_THREAD = """
import threading, torch, dc_memtrace as dm
kept = []
def gather():
    weight = torch.empty(30_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    kept.append(weight)
gather()
def work():
    torch.ones(3)
    kept.clear()
    torch.ones(3)
thread = threading.Thread(target=work)
thread.start()
thread.join()
torch.ones(2)
dm.step(0)
"""
PARTS_OF_ONE = """
import torch, dc_memtrace as dm
flat = torch.empty(40_000)
first, second = flat[:20_000], flat[20_000:]
dm.gather(0, first)
dm.gather(1, second)
dm.release(0)
del first
torch.ones(2)
dm.release(1)
torch.ones(2)
dm.step(0)
"""
READ_WHERE_ALL_ARE_RELEASED = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    for key, part in enumerate((first, second)):
        dm.gather(key, part)
    for key in (0, 1):
        dm.release(key)
        torch.ones(2)
    first.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
READ_WHERE_ANOTHER_IS_GATHERED = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    for key, part in enumerate((first, second)):
        dm.gather(key, part)
    with dm.release(0):
        first.data = torch.empty(0)
    torch.ones(2)
    first.mul_(2)
    dm.release(1)
    torch.ones(2)
    for part in (first, second):
        part.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
READ_WHERE_THE_STORAGE_HAS_ENDED = """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(0, weight)
    with dm.release(0):
        weight.data = torch.empty(0)
    torch.ones(2)
    weight.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
MANY_IN_A_ROW = """
import torch, dc_memtrace as dm
weights = [torch.empty(20_000) for _ in range(1030)]
for key, weight in enumerate(weights):
    dm.gather(key, weight)
for key in range(1030):
    dm.release(key)
torch.ones(2)
"""

ACROSS_STEPS = {
    "allocated in one step, gathered in the next": """
import torch, dc_memtrace as dm
weight = torch.empty(20_000)
for step in range(3):
    dm.gather(1, weight)
    torch.ones(2)
    with dm.release(1):
        weight.untyped_storage().resize_(0)
    torch.ones(2)
    weight = torch.empty(20_000)
    dm.step(step)
""",
    "gathered in one step, released in the next": """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    for step in range(3):
        torch.ones(2)
        dm.release(1)
        torch.ones(2)
        weight = torch.empty(20_000)
        dm.gather(1, weight)
        dm.step(step)
main()
""",
    "counted and read beyond a step": """
import torch, dc_memtrace as dm
def main():
    weight, late = torch.empty(20_000), torch.empty(30_000)
    dm.gather(1, weight)
    dm.gather(2, late)
    torch.ones(2)
    dm.release(1)
    dm.release(2, 2)
    torch.ones(2)
    dm.step(0)
    weight.mul_(2)
    del weight
    dm.release(2, 2)
    torch.ones(2)
    dm.step(1)
    late.mul_(2)
    dm.step(2)
main()
""",
    "released after the last step": """
import torch, dc_memtrace as dm
def main():
    for step in range(3):
        weight, late = torch.empty(20_000), torch.empty(30_000)
        dm.gather(1, weight)
        dm.gather(2, late)
        torch.ones(2)
        dm.step(step)
    dm.release(1)
    dm.release(2, 2)
    torch.ones(2)
    weight.mul_(2)
    more = torch.empty(30_000)
    dm.gather(3, more)
    torch.ones(2)
main()
""",
}

SHARED_AND_NOT_YET_RELEASED = """
import torch, dc_memtrace as dm
def main():
    own = torch.empty(20_000)
    dm.gather(1, own, 5)
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    dm.wait(1, weight, 5)
    del own
    with dm.release(1):
        del weight
    torch.ones(2)
    late = torch.empty(30_000)
    dm.gather(2, late)
    with dm.release(2):
        pass
    torch.ones(2)
    with dm.release(1, 1, 5):
        pass
    torch.ones(2)
main()
"""

PARTS_GONE_BEFORE_THEIR_RELEASES = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    dm.gather(1, first)
    dm.gather(2, second)
    late = torch.empty(30_000)
    dm.gather(3, late)
    torch.ones(2)
    del flat, first, second
    large = torch.empty(500_000)
    del large
    for key in (1, 2, 3):
        with dm.release(key):
            pass
    torch.ones(2)
main()
"""

# The program, and its number of findings.
PROGRAMS = {
    "read by the backward": ((recorded.PROGRAMS / "use_after_release.py",), 1),
    "a skipped frame, nobody releases": ((SKIPPED,), 1),
    "a skipped frame, released early": ((SKIPPED, "--early"), 1),
    "reloaded inputs": ((OFFLOAD, "--steps", 1), 0),
    "weights held to the end, compiled": ((RELEASE, "--steps", 2), 1),
    "viewed by the backward": ((recorded.PROGRAMS / "use_after_release.py", "--linear"), 1),
    "read, the data is there": ((recorded.PROGRAMS / "use_after_release.py", "--keep-data"), 1),
    "out of memory": ((recorded.PROGRAMS / "out_of_memory.py", "cpu", "--catch"), 2),
    "prefetch and offload": ((*TRAIN, *TENSOR_ONLY, "--prefetch", 1, "--offload"), 1),
    "a cast cache": ((*TRAIN, "--bf16", "--switch", "cast_cache_keeps_gathered"), 1),
    "eager, released early": ((*TRAIN, *TENSOR_ONLY, "--skipped", 1, "--switch", "early_release_before_backward"), 3),
    "eager, nobody releases": ((*TRAIN, "--skipped", 1, "--switch", "eager_gather_without_owner"), 1),
    "graphs": ((*TRAIN, *TENSOR_ONLY, "--compiled", "--switch", "wrapper_keeps_aliases"), 1),
    "persistent": ((*TRAIN, *TENSOR_ONLY, "--persistent-below", 10**6), 0),
    "keys that take turns": (("-c", FLAT_BUFFER), 0),
    "a pool": ((HEALTHY, "pool_of_8"), 0),
    "a leak from a pool": ((HEALTHY, "--plant", "pool_of_2"), 1),
    "a leak from a ring": ((HEALTHY, "--plant", "ring"), 1),
    "goes in the last operator": (("-c", GOES_IN_THE_LAST_OPERATOR), 0),
    "held when the program is cut off": (("-c", CUT_OFF), 1),
    "held by a thread beyond its last event": (("-c", HELD_BY_A_THREAD), 1),
    "parts of a storage that outlives the step": (("-c", PARTS_OF_ONE), 1),
    "goes on another thread": (("-c", GOES_ON_ANOTHER_THREAD), 1),
    "parts go before their releases": (("-c", PARTS_GONE_BEFORE_THEIR_RELEASES), 1),
    "a wait gives another key's storage": (("-c", SHARED_AND_NOT_YET_RELEASED), 1),
    "a part is read when all are released": (("-c", READ_WHERE_ALL_ARE_RELEASED), 1),
    "a part is read while another is gathered": (("-c", READ_WHERE_ANOTHER_IS_GATHERED), 1),
    "read when its storage has ended": (("-c", READ_WHERE_THE_STORAGE_HAS_ENDED), 1),
}
