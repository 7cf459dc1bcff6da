"""Replays a plan of `dc-memtrace reproduce`: the cycles of a recorded step, in the reference executor.

`python -m dcmt_zero3.replay plan.json` writes the plan as straight-line Python code and runs it. Each recorded thread
becomes a function. Local variables of these functions hold the gathered storages, as in the recording.

The plan has only bytes and types of shapes, so parameters have one dimension. Their shards lie outside of torch's
allocator. All other allocated memory is one level that rises and falls. What torch has allocated is therefore, byte for
byte, what the plan says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import torch

import dc_memtrace
from . import ops

BEGIN = "dc-memtrace replay"  # the mark that follows the preparation
REGION = "dc-memtrace replay: region"  # without steps, the mark that begins the compared region

GATHERED_TYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int32, torch.int64}

# The values of each switch that a plan can be replayed with. A plan has the places of releases, but not which reads an
# earlier release would precede.
SWITCHES = {
    "release_clears_tensor_only": ("on", "off"),
    "wrapper_keeps_aliases": ("on", "off"),
    "eager_gather_without_owner": ("on", "off"),
    "early_release_before_backward": ("off",),
}


class Stage:
    """The methods that the lines of a replay call."""

    def __init__(self, plan: dict[str, Any], clears_tensor_only: bool | None):
        self._buffers = plan["buffers"]
        self._cut_off = plan["cut_off"]
        self._clears_tensor_only = clears_tensor_only
        most = max(buffer["bytes"] for buffer in self._buffers)
        self._zeros = torch.frombuffer(mmap.mmap(-1, most), dtype=torch.int8)
        self._one = torch.frombuffer(bytearray(1), dtype=torch.int8)
        self._level: list[torch.UntypedStorage] = []
        self._seen: dict[int, weakref.ref] = {}
        self._made: dict[int, torch.UntypedStorage] = {}  # pools of parameters, before the first gather
        # Buffers that are read after their bytes are freed, and for each the tensor that its release empties.
        self._read_empty = {e["buffer"] for e in plan["events"] if e["do"] == "read" and e["value"] == 0}
        self._registered: dict[int, torch.Tensor] = {}
        # Parameters that share a storage: those that are gathered, and the uses left of each.
        self._parts_in_use: set[int] = set()
        self._uses: dict[int, int] = {}
        self.kept: dict[int, torch.Tensor] = {}  # buffers that no variable named
        self._turn, self._turns = 0, threading.Condition()
        self._register()

    def _register(self) -> None:
        ops.init_simulated(0, 0, 1, 1)
        graphs: dict[int, set[int]] = {}
        for buffer in self._buffers:
            if buffer["shares"] is None and buffer["id"] not in graphs.setdefault(buffer["graph"], set()):
                shard = self._shard(buffer)
                ops.register_param(buffer["id"], [shard.numel()], shard, None, buffer["persistent"])
                graphs[buffer["graph"]].add(buffer["id"])
        for graph, ids in graphs.items():
            ops.register_graph_z3(graph, sorted(ids))
        ops.start_forward()

    def _shard(self, buffer: dict[str, Any]) -> torch.Tensor:
        return self._zeros[: buffer["bytes"]].view(_dtype_of(buffer))

    # --- one method for each recorded event ---

    def level(self, bytes: int) -> None:
        """Allocates or frees so that all memory but the gathered storages has this many bytes."""
        now = sum(block.nbytes() for block in self._level)
        while now > bytes:
            now -= self._level.pop().nbytes()
        if now < bytes:
            self._level.append(torch.UntypedStorage(bytes - now))

    def make(self, number: int) -> None:
        self._made[number] = torch.UntypedStorage(self._buffers[number]["bytes"])

    def gather(self, number: int) -> torch.Tensor:
        """If a buffer is gathered again, its names continue to refer to the tensor of the first gather."""
        buffer = self._buffers[number]
        graph, id = buffer["graph"], buffer["id"]
        if buffer["shares"] is None:
            tensor = ops.allgather_param(self._shard(buffer), graph, id)
        else:
            tensor = self._part_of(buffer["shares"], number)
            dc_memtrace.gather(id, tensor, graph)
            self._parts_in_use.add(number)
            if number in self._read_empty:
                self._registered[number] = self._in_storage_of(tensor, number)  # not a view: it would keep the other
        if number not in self._seen:
            self._seen[number] = weakref.ref(tensor)
        return tensor

    def _part_of(self, first: int, number: int) -> torch.Tensor:
        """The executor does not support several parameters in one storage, so marks describe them."""
        dtype = _dtype_of(self._buffers[number])
        size = self._buffers[number]["bytes"] // dtype.itemsize
        if parts := self._parts(first):
            return self._in_storage_of(parts[0], number)
        made = self._made.pop(number, None)
        return torch.empty(size, dtype=dtype) if made is None else self._in(made, number)

    def _in_storage_of(self, tensor: torch.Tensor, number: int) -> torch.Tensor:
        return self._in(tensor.untyped_storage(), number)

    def _in(self, storage: torch.UntypedStorage, number: int) -> torch.Tensor:
        dtype = _dtype_of(self._buffers[number])
        size = self._buffers[number]["bytes"] // dtype.itemsize
        return torch.empty(0, dtype=dtype).set_(storage, 0, (size,))

    def _parts(self, first: int) -> list[torch.Tensor]:
        """The live tensors in one shared storage."""
        parts = (seen() for number, seen in self._seen.items() if self._buffers[number]["shares"] == first)
        return [part for part in parts if part is not None]

    def _tensor(self, number: int) -> torch.Tensor:
        tensor = self._seen[number]()
        if tensor is None:
            raise RuntimeError(f"buffer {number} is gone")
        return tensor

    def wait(self, number: int) -> None:
        buffer = self._buffers[number]
        if buffer["shares"] is None:
            ops.wait_allgather(self._tensor(number), buffer["graph"], buffer["id"])
        else:
            dc_memtrace.wait(buffer["id"], self._tensor(number), buffer["graph"])

    def release(self, number: int, users: int, clears_tensor_only: bool) -> None:
        buffer = self._buffers[number]
        if self._clears_tensor_only is not None:
            clears_tensor_only = self._clears_tensor_only
        if ops.switch_is_on("release_clears_tensor_only") != clears_tensor_only:
            ops.set_switch("release_clears_tensor_only", clears_tensor_only)
        if number in self._read_empty:
            flats = ops.gathered_buffers(buffer["id"], buffer["graph"])
            self._registered.update((number, flat) for flat in flats)
        ops.release_param(self._one, buffer["graph"], buffer["id"], users)

    @contextlib.contextmanager
    def release_by_marks(self, number: int, users: int, clears_tensor_only: bool) -> Iterator[None]:
        """Surrounds the code that releases a part of a shared storage."""
        buffer = self._buffers[number]
        final = self._count_down(number, users)
        if self._clears_tensor_only is not None:
            clears_tensor_only = self._clears_tensor_only or self._storage_in_use(number)
        with dc_memtrace.release(buffer["id"], users, buffer["graph"]):
            if not clears_tensor_only:
                self._tensor(number).untyped_storage().resize_(0)
            if final and number in self._registered:
                self._registered[number].data = torch.empty(0, dtype=_dtype_of(buffer))
            yield

    def _count_down(self, number: int, users: int) -> bool:
        """True after the last use of a part."""
        self._uses[number] = self._uses.get(number, users) - 1
        if self._uses[number] > 0 or self._buffers[number]["persistent"]:
            return False
        self._uses.pop(number)
        self._parts_in_use.discard(number)
        return True

    def _storage_in_use(self, number: int) -> bool:
        return any(self._buffers[one]["shares"] == self._buffers[number]["shares"] for one in self._parts_in_use)

    def read(self, number: int, bytes: int) -> None:
        with contextlib.suppress(RuntimeError):  # the data may have been freed
            torch.equal(self._readable(number, bytes), self._one)  # one input, and no allocation

    def _readable(self, number: int, bytes: int) -> torch.Tensor:
        """The tensor for a read after a release: the one that the release emptied, or any tensor of the storage."""
        if bytes == 0 and number in self._registered:
            return self._registered[number]
        if self._seen[number]() is None and self._buffers[number]["shares"] is not None:
            return next(iter(self._parts(self._buffers[number]["shares"])), self._one)
        return self._tensor(number)

    def empty(self, number: int) -> None:
        self._tensor(number).untyped_storage().resize_(0)

    def forget(self, number: int) -> None:
        self._registered.pop(number, None)
        self._parts_in_use.discard(number)
        if self._buffers[number]["shares"] is None:
            ops.invalidate(self._buffers[number]["id"])

    def operator(self) -> None:
        """Runs an operator in a range of the program, which has a row in the trace: the last row ends the work."""
        with torch.profiler.record_function("operator"):
            self._one.zero_()

    def memory(self, bytes: int) -> None:
        with contextlib.suppress(RuntimeError):
            torch.UntypedStorage(bytes)

    def step(self, number: int) -> None:
        dc_memtrace.step(number)

    def mark_begin(self) -> None:
        dc_memtrace.mark(BEGIN)

    def mark_region(self) -> None:
        dc_memtrace.mark(REGION)

    # --- threads run in turns ---

    def wait_for_turn(self, turn: int) -> None:
        with self._turns:
            self._turns.wait_for(lambda: self._turn == turn or self._turn < 0)
        if self._turn < 0:
            raise SystemExit

    def pass_on(self) -> None:
        with self._turns:
            self._turn += 1
            self._turns.notify_all()

    def give_up(self) -> None:
        with self._turns:
            self._turn = -1
            self._turns.notify_all()

    # --- the end: variables keep the tensors that they name then ---

    def stay(self) -> None:
        """Keeps a thread alive that has no more events."""
        self.wait_for_turn(sys.maxsize)

    def end(self) -> None:
        """Ends the process at once: the end of the interpreter is not part of the plan."""
        sys.stdout.flush()
        if self._cut_off:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)


class Writer:
    """Turns a plan into lines of Python: one function for each recorded thread."""

    def __init__(self, plan: dict[str, Any], switches: dict[str, bool]):
        self._plan = plan
        self._switches = switches
        self._names = _names_of(plan["buffers"])
        self._lines: dict[int, list[str]] = {}
        self._thread_of = {e["buffer"]: e["thread"] for e in plan["events"] if e["do"] == "gather" and not e["again"]}

    def source(self) -> str:
        plan, runs = self._plan, 0
        events = self._switched(list(plan["events"]))
        main = plan["threads"][0]
        thread, running = main, None
        several = len(plan["threads"]) > 1
        for number, event in enumerate(events):
            thread = self._place_of(event, main, thread)
            lines = self._lines.setdefault(thread, [])
            if several and thread != running:
                if running is not None:
                    self._lines[running].append("stage.pass_on()")
                lines.append(f"stage.wait_for_turn({runs})")
                running, runs = thread, runs + 1
            if number == plan["prologue"]:
                first = plan["first_step"]
                lines.append("stage.mark_region()" if first is None else f"stage.step({first - 1})  # what comes before")
            lines += self._lines_of(event)
        if several:
            self._lines[running].append("stage.pass_on()")
        self._lines.setdefault(main, []).insert(0, "stage.mark_begin()")
        if several:
            self._lines[main].append(f"stage.wait_for_turn({runs})")
        parts = []
        for one, lines in self._lines.items():
            lines.append("stage.end()" if one == main else "stage.stay()")
            cells = sorted({name for buffer in self._in_cells(one) for name in self._names[buffer]})
            if cells:
                lines.append(f"return lambda: ({', '.join(cells)},)")
            body = "".join(f"    {line}\n" for line in lines)
            parts.append(f"def thread_{_word(one)}(stage):\n{body}")
        return "\n\n".join(parts)

    def _place_of(self, event: dict[str, Any], main: int, before: int) -> int:
        """The thread whose function gets the event."""
        if event["do"] == "forget":
            return main  # the thread of the executor
        if event["do"] == "drop":
            return self._thread_of[event["buffer"]]  # the thread of the names
        return before if event["thread"] is None else event["thread"]

    def _in_cells(self, thread: int) -> list[int]:
        """Buffers that were gathered on this thread and held by variables shared between functions."""
        return [n for n, gathered_on in sorted(self._thread_of.items())
                if gathered_on == thread
                and any(h["kind"] in ("cell", "free") for h in self._plan["buffers"][n]["holders"])]  # fmt: skip

    def _lines_of(self, event: dict[str, Any]) -> list[str]:
        what, number, value = event["do"], event["buffer"], event["value"]
        if what in ("level", "memory", "step"):
            return [f"stage.{what}({value})"]
        if what == "read":
            return [f"stage.read({number}, {value})"]
        if what == "operator":
            return ["stage.operator()"]
        buffer = self._plan["buffers"][number]
        if what == "gather":
            if event["again"]:
                return [f"stage.gather({number})"]
            return [" = ".join(self._targets(number)) + f" = stage.gather({number})  # {_about(buffer)}"]
        if what == "drop":
            if event["inside_release"]:
                return []
            return [f"del {', '.join(self._targets(number))}"]
        if what == "release":
            arguments = f"{number}, {value}, {event['clears_tensor_only']}"
            if buffer["shares"] is None:
                return [f"stage.release({arguments})"]
            inside = f"del {', '.join(self._targets(number))}" if event.get("drops") else "pass"
            return [f"with stage.release_by_marks({arguments}):", f"    {inside}"]
        return [f"stage.{what}({number})"]

    def _targets(self, number: int) -> list[str]:
        buffer = self._plan["buffers"][number]
        unnamed = [f"stage.kept[{number}]"] if buffer["unnamed"] else []
        return unnamed + self._names[number]

    def _switched(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Changes the events to what they would be with the program's switches."""
        last_release = {e["buffer"]: n for n, e in enumerate(events) if e["do"] == "release"}
        on = self._switches.get
        if on("wrapper_keeps_aliases") is True:
            events = [e for e in events if e["do"] != "drop"]
        elif on("wrapper_keeps_aliases") is False:
            early = []
            for number, event in enumerate(events):
                if last_release.get(event["buffer"]) == number and event["do"] == "release":
                    early.append({**event, "do": "drop", "inside_release": True})
                if event["do"] != "drop" or event["buffer"] not in last_release:
                    early.append(event)
            events = early
        if on("eager_gather_without_owner") is True:
            events = [e for e in events if e["do"] != "release"]
        elif on("eager_gather_without_owner") is False:
            events = _release_leftovers(events, last_release)
        if on("early_release_before_backward") is False:
            events = _release_after_reads(events)
        return self._drops_inside_releases(events)

    def _drops_inside_releases(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Moves the drop of a part of a shared storage into its release, if the release drops it.

        That is impossible if the names belong to another thread.
        """
        result = [dict(event) for event in events]
        waiting: dict[int, dict[str, Any]] = {}
        for event in result:
            number = event["buffer"]
            if event["do"] == "drop" and event["inside_release"]:
                event["inside_release"] = False
                if self._plan["buffers"][number]["shares"] is not None:
                    waiting[number] = event
            elif event["do"] == "release" and number in waiting and event["thread"] == self._thread_of[number]:
                waiting.pop(number)["inside_release"] = True
                event["drops"] = True
        return result


def _release_leftovers(events: list[dict[str, Any]], released: dict[int, int]) -> list[dict[str, Any]]:
    """Adds missing releases: where the buffer is forgotten, at the end of its step, or at the end of the plan."""
    result: list[dict[str, Any]] = []
    left: dict[int, dict[str, Any]] = {}

    def release(number: int) -> None:
        result.append({**left.pop(number), "do": "release", "value": 1, "clears_tensor_only": False})

    for event in events:
        if event["do"] == "gather" and event["buffer"] not in released:
            left[event["buffer"]] = event
        if event["do"] == "step":
            for number in tuple(left):
                release(number)
        if event["do"] == "forget" and event["buffer"] not in released:
            if event["buffer"] in left:
                release(event["buffer"])
            continue
        result.append(event)
    for number in tuple(left):
        release(number)
    return result


def _release_after_reads(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Moves the releases of a buffer behind its last read."""
    last_read = {e["buffer"]: n for n, e in enumerate(events) if e["do"] == "read"}
    result, late = [], {}
    for number, event in enumerate(events):
        buffer = event["buffer"]
        if event["do"] in ("release", "drop") and number < last_read.get(buffer, -1):
            late.setdefault(buffer, []).append(event)
            continue
        result.append(event)
        if last_read.get(buffer) == number:
            result += late.pop(buffer, [])
    return result


def _names_of(buffers: list[dict[str, Any]]) -> list[list[str]]:
    """The recorded names of the variables that hold each buffer. Duplicate names get a suffix."""
    used = {"stage"}
    result = []
    for number, buffer in enumerate(buffers):
        names = [holder["name"] for holder in buffer["holders"] if holder["name"].isidentifier()]
        if not names and not buffer["unnamed"]:
            names = ["weight"]
        mine = []
        for name in dict.fromkeys(names):
            while name in used:
                name += f"_{number}"
            mine.append(name)
            used.add(name)
        result.append(mine)
    return result


def _dtype_of(buffer: dict[str, Any]) -> torch.dtype:
    """int8 if the dtype was not recorded, if collectives do not support it, or if it does not divide the bytes."""
    dtype = getattr(torch, buffer["dtype"] or "int8")
    return dtype if dtype in GATHERED_TYPES and buffer["bytes"] % dtype.itemsize == 0 else torch.int8


def _about(buffer: dict[str, Any]) -> str:
    return f"graph {buffer['graph']}, id {buffer['key']}: {buffer['bytes']} B"


def _word(thread: int) -> str:
    return str(thread).replace("-", "m")


def run(path: str, switches: dict[str, bool]) -> None:
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    source = Writer(plan, switches).source()
    script = os.path.splitext(path)[0] + "_replayed.py"  # a file, so that holders have source lines
    with open(script, "w", encoding="utf-8") as file:
        file.write(source)
    functions: dict[str, Any] = {}
    exec(compile(source, script, "exec"), functions)

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    stage = Stage(plan, switches.get("release_clears_tensor_only"))
    errors: list[BaseException] = []

    def play(thread: int) -> None:
        try:
            functions[f"thread_{_word(thread)}"](stage)
        except BaseException as error:
            errors.append(error)
            stage.give_up()

    names = [f"thread_{_word(thread)}" for thread in plan["threads"]]
    others = [threading.Thread(target=play, args=(thread,), daemon=True)
              for thread, name in zip(plan["threads"], names) if name in functions][1:]  # fmt: skip
    for thread in others:
        thread.start()
    play(plan["threads"][0])
    # play() of the first thread returns only after an error: stage.end() exits the process.
    failed = next(error for error in errors if not isinstance(error, SystemExit))
    line = failed.__traceback__
    while line is not None and line.tb_frame.f_code.co_filename != script:
        line = line.tb_next
    where = f", line {line.tb_lineno} of {script}" if line is not None else ""
    sys.exit(f"{failed}{where}".replace("\n", " "))


def _switch(text: str) -> tuple[str, bool]:
    name, equals, value = text.partition("=")
    if (value if equals else "on") not in SWITCHES.get(name, ()):
        acting = [one if len(values) == 2 else f"{one}={values[0]}" for one, values in SWITCHES.items()]
        raise argparse.ArgumentTypeError(f"'{text}' does not act on a plan; these do: {', '.join(acting)}")
    return name, value != "off"


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main() -> None:
    parser = Parser("dcmt_zero3.replay", description=__doc__)
    parser.add_argument("plan", help="JSON, by dc-memtrace reproduce -o")
    parser.add_argument("--switch", action="append", default=[], type=_switch, metavar="NAME[=off]")
    arguments = parser.parse_args()
    run(arguments.plan, dict(arguments.switch))


if __name__ == "__main__":
    main()
