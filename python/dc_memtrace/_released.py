"""Finds what keeps a tensor that a test has released, except for the test's own variables and pytest."""

from __future__ import annotations

import gc
import inspect
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from dc_memtrace._snapshot import address_of, holders_at

# pytest's session leads to each test and its fixtures. The root is any module that pytest has loaded itself.
_PYTESTS = re.compile(r"\.session\.(items\[|_)|\.(funcargs|cached_result|_fixturemanager|_setupstate|_finalizers)\b")
_RUNNERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("_pytest", "pluggy", "dc_memtrace"))


def assert_released(tensor: Any, timeout: float = 60.0) -> None:
    """Fails if something holds the storage of `tensor`, and names the holders. Variables that are `tensor` itself do not count.

        loss = model(batch).sum()
        loss.backward()
        assert_released(loss)     # nothing but this test's variable keeps it

    Variables of the test, and of its functions that lead to this call, may be `tensor`. A view of it, a list that contains it
    and a graph that saved it may not exist. Fixtures that are or contain the tensor do not count, nor what pytest keeps of a
    test. Garbage is collected first. The call needs about half a second.

    tensor: a torch.Tensor with memory of its own. timeout: the maximum of seconds.
    Raises AssertionError; TypeError, ValueError and MemtraceError as holders() does.
    """
    __tracebackhide__ = True
    address, size = address_of(tensor)
    own = set(_variables_that_are(tensor))
    del tensor
    gc.collect()
    held = [each for each in holders_at(address, size, timeout) if each not in own and not is_pytests(each)]
    if held:
        raise AssertionError(f"{size:,} B that should be released are held by " + ", ".join(held))


def _variables_that_are(tensor: Any) -> Iterator[str]:
    """Variables in the form of holders: "test_it (test_model.py:12): loss"."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED:
            variables = frame.f_locals
            names = [name for name, value in variables.items() if value is tensor]
            if isinstance(variables, dict):
                variables.clear()  # a copy; up to CPython 3.12 the frame keeps it, so it would be a holder
            for name in names:
                yield f"{code.co_name} ({os.path.basename(code.co_filename)}:{frame.f_lineno}): {name}"
        elif code.co_name == "<module>":
            module = frame.f_globals.get("__name__", "").replace("__main__", "main")
            yield from (f"{module}.{name}" for name, value in frame.f_globals.items() if value is tensor)
        frame = frame.f_back


def is_pytests(path: str) -> bool:
    """True for a path through pytest: its session, a fixture's value, or one of its frames."""
    return _PYTESTS.search(path) is not None or path.split(":")[0] in _frames_of_runners()


def _frames_of_runners() -> set[str]:
    """The frames of test runners in the form of roots of paths, without the line number."""
    found = set()
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if any(each in code.co_filename for each in _RUNNERS):
            found.add(f"{code.co_name} ({os.path.basename(code.co_filename)}")
        frame = frame.f_back
    return found


# Objects that lead to the whole program.
_NOT_OF_A_VALUE = (types.ModuleType, type, types.FrameType, types.FunctionType, types.CodeType, types.TracebackType)
_MOST_OBJECTS = 200_000


def storages_of(values: Iterable[Any]) -> set[int]:
    """Addresses of the storages of all tensors that are reachable from these values, without paths through the whole program."""
    torch = sys.modules.get("torch")
    if torch is None:
        return set()
    found: set[int] = set()
    seen: set[int] = set()
    wanted = list(values)
    while wanted and len(seen) < _MOST_OBJECTS:
        each = wanted.pop()
        if id(each) in seen or isinstance(each, _NOT_OF_A_VALUE):
            continue
        seen.add(id(each))
        if isinstance(each, torch.Tensor):
            try:
                found.add(address_of(each)[0])
            except ValueError:
                pass
            if each.grad is not None and each.is_leaf:
                wanted.append(each.grad)
        wanted.extend(gc.get_referents(each))
    return found
