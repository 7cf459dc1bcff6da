"""Tests of libdcmt_python.so in a real Python, with a fake agent. Standard library only: runs under any CPython.

DCMT_FAKE_AGENT and DCMT_PYTHON_PROVIDER name the two libraries.
"""

import collections
import ctypes
import dis
import gc
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import unittest

FAKE_PATH = os.environ["DCMT_FAKE_AGENT"]
HOLDING = ctypes.PyDLL(FAKE_PATH, ctypes.RTLD_GLOBAL)  # calls keep the GIL
RELEASING = ctypes.CDLL(FAKE_PATH)  # calls release the GIL, as torch's operators do
PROVIDER = ctypes.PyDLL(os.environ["DCMT_PYTHON_PROVIDER"])

for library in (HOLDING, RELEASING):
    library.fake_capture.restype = ctypes.c_uint64
    library.fake_capture_after_ms.restype = ctypes.c_uint64
    library.fake_module.restype = ctypes.c_uint64
    library.fake_describe.restype = ctypes.c_uint64
    library.fake_visit.restype = ctypes.c_uint64
    library.fake_visit.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int]
    library.fake_records.restype = ctypes.c_void_p
    library.fake_records_bytes.restype = ctypes.c_size_t
    library.fake_capture_cost.restype = ctypes.c_double
    library.fake_diagnostic.restype = ctypes.c_char_p
    library.fake_python_version.restype = ctypes.c_char_p
    library.fake_released_name.restype = ctypes.c_uint64
PROVIDER.dcmt_provider_start.restype = None
# The provider reads its table of functions as it starts.
with tempfile.NamedTemporaryFile("w") as table:
    for function in ("Param.free", "Param.free_in_cell"):
        table.write(f"function\tframework/param.py\t{function}\trelease\tresize\tmine\t\t\tself\tfqn\n")
    table.flush()
    os.environ["DC_MEMTRACE_OPERATORS"] = table.name
    PROVIDER.dcmt_provider_start()

STRING, CODE, STACK, CENSUS_LOCAL, CODE_BODY, SOURCE_LINE = 2, 3, 4, 29, 31, 32
LOCAL, CELL, FREE, EVAL_STACK = 1, 2, 3, 4
HEADER = struct.Struct("<HHIQQ")

Code = collections.namedtuple("Code", "first_line file function")
Local = collections.namedtuple("Local", "kind census object code offset line index depth name tid")


class Records:
    """Everything that was published so far."""

    def __init__(self):
        raw = ctypes.string_at(HOLDING.fake_records(), HOLDING.fake_records_bytes())
        self.strings, self.codes, self.stacks = {0: ""}, {}, {}
        self.locals, self.bodies, self.source_lines = [], collections.defaultdict(list), []
        at = 0
        while at < len(raw):
            kind, words, aux, _, _ = HEADER.unpack_from(raw, at)
            body = raw[at + HEADER.size : at + words * 8]
            if kind == STRING:
                identity, size = struct.unpack_from("<QQ", body)
                self.strings[identity] = body[16 : 16 + size].decode()
            elif kind == CODE:
                identity, file, function = struct.unpack("<QQQ", body)
                assert identity not in self.codes
                self.codes[identity] = Code(aux, self.strings[file], self.strings[function])
            elif kind == STACK:
                identity, count = struct.unpack_from("<QQ", body)
                assert identity not in self.stacks
                self.stacks[identity] = (aux, [struct.unpack_from("<Qii", body, 16 + 16 * i) for i in range(count)])
            elif kind == CENSUS_LOCAL:
                row = struct.unpack("<QQQiiiIQQ", body)
                self.locals.append(Local(aux, *row[:7], self.strings[row[7]], row[8]))
            elif kind == CODE_BODY:
                code, python, total, offset, size = struct.unpack_from("<QIIII", body)
                assert python == (sys.version_info[0] << 8) | sys.version_info[1]
                self.bodies[code, aux].append((total, offset, body[24 : 24 + size]))
            elif kind == SOURCE_LINE:
                file, text = struct.unpack("<QQ", body)
                self.source_lines.append((self.strings[file], aux, self.strings[text]))
            at += words * 8

    def frames(self, stack):
        """(file, function, line), innermost first."""
        return [(self.codes[code].file, self.codes[code].function, line) for code, _, line in self.stacks[stack][1]]

    def body(self, code, part):
        pieces = self.bodies[code, part]
        whole = b"".join(piece for _, _, piece in pieces)
        assert [offset for _, offset, _ in pieces] == [sum(len(p[2]) for p in pieces[:i]) for i in range(len(pieces))]
        assert pieces[0][0] == len(whole)
        return whole


class Place(ctypes.Structure):
    """dcmt::agent::PythonPlace"""

    _fields_ = [("code", ctypes.c_void_p), ("offset", ctypes.c_int32)]


def describe(frames):
    """The id of a stack that was captured before; computed without the GIL."""
    places = (Place * len(frames))(*[Place(id(code), offset) for code, offset in frames])
    return RELEASING.fake_describe(places, len(frames))


def captured():
    """The caller's stack as code objects and offsets, innermost first."""
    frame = sys._getframe(1)
    found = []
    while frame:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return found


def expected_frames():
    """The expected stack of the caller, except for its own line."""
    frame = sys._getframe(1)
    found = []
    while frame:
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        found.append((frame.f_code.co_filename, name, frame.f_lineno))
        frame = frame.f_back
    return found


def both(library):
    """A captured stack and the expected one, from the same line."""
    return library.fake_capture(), expected_frames()


def at_depth(depth, call):
    return call() if depth == 0 else at_depth(depth - 1, call)


def visit(*objects, library=HOLDING, other_threads=False):
    """The locals that refer to one of `objects`, as one census publishes them."""
    visit.census += 1
    addresses = (ctypes.c_uint64 * len(objects))(*[id(o) for o in objects])
    reach = library.fake_visit(visit.census, ctypes.addressof(addresses), len(objects), other_threads)
    found = [l for l in Records().locals if l.census == visit.census]
    assert reach & 0xFFFFF == len(found)
    return found, bool(reach >> 60)


visit.census = 0


class Thing:
    pass


def names(found):
    """The places of the hits, without the test's own functions."""
    records = Records()
    own = {"visit"}
    return {(records.codes[l.code].function.split(".")[-1], l.name, l.kind) for l in found
            if l.kind != EVAL_STACK and records.codes[l.code].function not in own}


class Start(unittest.TestCase):
    def test_registers(self):
        self.assertEqual(HOLDING.fake_diagnostic(), b"")
        self.assertEqual(HOLDING.fake_registered(), 1)
        self.assertEqual(HOLDING.fake_python_version().decode(), sys.version.split()[0])


class Room(unittest.TestCase):
    def test_what_found_no_room_is_published_at_the_next_sight(self):
        scope = {}
        exec("def fresh(inspect):\n    thing = Thing()\n    return inspect(thing)", globals(), scope)

        def inspect(thing):
            address = (ctypes.c_uint64 * 1)(id(thing))
            HOLDING.fake_visit(1 << 40, ctypes.addressof(address), 1, False)
            return HOLDING.fake_capture()

        seen = []
        for room in (0, 1):
            HOLDING.fake_room(room)
            try:
                seen.append(scope["fresh"](inspect))
            finally:
                HOLDING.fake_room(1)
        self.assertEqual(seen[0], seen[1])
        records = Records()
        code = records.stacks[seen[1]][1][1][0]
        self.assertEqual(records.codes[code].function, "fresh")
        for part in (1, 2, 3, 4):
            records.body(code, part)


class Stacks(unittest.TestCase):
    def check(self, stack, expected):
        self.assertEqual(Records().frames(stack), expected[:64])

    def test_depths(self):
        for library in (HOLDING, RELEASING):
            for depth in (0, 1, 5, 30):
                with self.subTest(depth=depth, library=library):
                    self.check(*at_depth(depth, lambda: both(library)))

    def test_as_traceback(self):
        stack, frames = HOLDING.fake_capture(), traceback.extract_stack()
        expected = [(f.filename, f.name, f.lineno) for f in reversed(frames)]
        got = [(file, function.split(".")[-1], line) for file, function, line in Records().frames(stack)]
        self.assertEqual(got, expected)

    def test_deeper_than_the_limit(self):
        stack, expected = at_depth(100, lambda: both(HOLDING))
        self.check(stack, expected)
        self.assertEqual(Records().stacks[stack][0], 1)

    def test_same_stack_same_id(self):
        ids = {at_depth(7, lambda: HOLDING.fake_capture()) for _ in range(10)}
        self.assertEqual(len(ids), 1)
        self.assertNotEqual(at_depth(8, lambda: HOLDING.fake_capture()), ids.pop())

    def test_two_calls_on_one_line_differ(self):
        one, two = HOLDING.fake_capture(), HOLDING.fake_capture()
        self.assertNotEqual(one, two)

    def test_the_innermost_call_of_a_module(self):
        source = "class Module:\n    def _wrapped_call_impl(self, inner):\n        return inner()\n"
        scope, other = {}, {}
        exec(compile(source, "site-packages/torch/nn/modules/module.py", "exec"), scope)
        exec(compile(source, "site-packages/mine/modules/module.py", "exec"), other)
        outer, inside, stranger = scope["Module"](), scope["Module"](), other["Module"]()
        call = scope["Module"]._wrapped_call_impl
        self.assertEqual(HOLDING.fake_module(), 0)
        for capture in (HOLDING.fake_module, lambda: RELEASING.fake_module()):
            self.assertEqual(call(outer, capture), id(outer))  # the first time, too
            self.assertEqual(call(outer, lambda: call(inside, capture)), id(inside))
            self.assertEqual(call(outer, lambda: stranger._wrapped_call_impl(capture)), id(outer))
        self.assertEqual(stranger._wrapped_call_impl(HOLDING.fake_module), 0)

    def test_threads(self):
        results = []

        def work(depth):
            for _ in range(20):
                results.append(at_depth(depth, lambda: both(RELEASING)))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 120)
        records = Records()
        for stack, expected in results:
            self.assertEqual(records.frames(stack), expected)

    def test_while_others_run_python(self):
        stop = threading.Event()

        def spin():
            while not stop.is_set():
                at_depth(20, lambda: None)

        thread = threading.Thread(target=spin)
        thread.start()
        try:
            stack, expected = RELEASING.fake_capture_after_ms(20), expected_frames()
        finally:
            stop.set()
            thread.join()
        self.check(stack, expected)

    def test_generators(self):
        def inner():
            yield both(HOLDING)

        def outer():
            yield from inner()

        for generator in (inner(), outer()):
            self.check(*next(generator))

    def test_coroutine(self):
        async def inner():
            return both(HOLDING)

        async def outer():
            return await inner()

        with self.assertRaises(StopIteration) as stop:
            outer().send(None)
        self.check(*stop.exception.value)

    def test_through_c(self):
        self.check(*list(map(lambda _: both(HOLDING), [0]))[0])
        self.check(*sorted([1], key=lambda _: setattr(self, "pair", both(HOLDING)) or 0) and self.pair)

    def test_lines_of_a_long_function(self):
        """Beyond the first block of bytecode, lines come from marks: ascending, descending, and with large jumps."""
        body = ["def long(capture, order):"]
        for i in range(400):
            body += [f"  if {i} in order:", f"    found.append(({i % 3 + 1}, capture(),", "\n" * (i % 3) + "      sys._getframe().f_lineno))"]
        scope = {"found": [], "sys": sys}
        exec(compile("\n".join(body), "long.py", "exec"), scope)
        for order in ([300], [7, 399], range(0, 400, 50), range(400)):
            scope["long"](HOLDING.fake_capture, order)
        records = Records()
        for below, stack, line in scope["found"]:
            file, function, captured = records.frames(stack)[0]
            self.assertEqual((file, function), ("long.py", "long"))
            self.assertEqual(captured, line - below)

    def test_constructors_called_often(self):
        """Since 3.12, a frequently called class gets a frame of the interpreter below that of its __init__."""
        class Made:
            def __init__(self):
                self.pair = both(HOLDING)

        made = [Made() for _ in range(50)]
        self.check(*made[0].pair)
        self.check(*made[-1].pair)

    def test_in_a_destructor_at_the_return(self):
        got = []

        class Last:
            def __del__(self):
                got.append(both(HOLDING))

        def holds():
            last = Last()
            return id(last)

        holds()
        self.check(*got[0])

    def test_names_that_are_not_ascii(self):
        scope = {"capture": HOLDING.fake_capture}
        exec(compile("def größe_変数():\n  return capture()\n", "/tmp/päth/😀.py", "exec"), scope)
        stack = scope["größe_変数"]()
        self.assertEqual(Records().frames(stack)[0], ("/tmp/päth/😀.py", "größe_変数", 2))

    def test_a_long_name_is_cut_at_a_character(self):
        scope = {"capture": HOLDING.fake_capture}
        exec(compile("def f():\n  return capture()\n", "ä" * 5000, "exec"), scope)
        stack = scope["f"]()
        self.assertEqual(Records().frames(stack)[0][0], "ä" * 4096)

    def test_a_stack_that_was_captured_before(self):
        frames, expected = captured(), expected_frames()  # on one line
        stack = describe(frames)
        self.assertEqual(Records().frames(stack), expected)
        self.assertEqual(describe(frames), stack)
        deep = describe(at_depth(90, captured))
        more, places = Records().stacks[deep]
        self.assertEqual((more, len(places)), (1, 64))
        code = expected_frames.__code__
        begun = describe([(code, -1)])
        self.assertEqual(Records().frames(begun)[0][1:], ("expected_frames", code.co_firstlineno), "before its first instruction")
        self.assertEqual(RELEASING.fake_describe(None, 0), 0)

    def test_no_python_thread(self):
        """A thread without a Python state has no stack."""
        libc = ctypes.CDLL(None)
        thread, result = ctypes.c_ulong(), ctypes.c_void_p()
        start = ctypes.cast(RELEASING.fake_capture, ctypes.c_void_p)
        self.assertEqual(libc.pthread_create(ctypes.byref(thread), None, start, None), 0)
        self.assertEqual(libc.pthread_join(thread, ctypes.byref(result)), 0)
        self.assertFalse(result.value)


class Functions(unittest.TestCase):
    SOURCE = """
class Param:
    def __init__(self, fqn):
        self.fqn = fqn
    def free(self):
        return name()
    def free_in_cell(self):
        return (lambda: name() if self else None)()
def of_a_variable(method):
    param = Param("of.a.variable")
    return method(param)
def of_nothing_else(method):
    return method(Param("of.nothing.else"))
def deleted():
    def free(self):
        del self
        return name()
    free.__code__ = free.__code__.replace(co_qualname="Param.free")
    return free(Param("deleted"))
"""

    def setUp(self):
        def name():
            identity = HOLDING.fake_released_name()
            return Records().strings[identity]

        self.scope = {"name": name}
        exec(compile(self.SOURCE, "framework/param.py", "exec"), self.scope)

    def test_the_parameters_name_is_that_of_a_variable(self):
        """Since CPython 3.14, the function may only borrow its argument from a variable of its caller."""
        for method in (self.scope["Param"].free, self.scope["Param"].free_in_cell):
            self.assertEqual(self.scope["of_a_variable"](method), "of.a.variable")
            self.assertEqual(self.scope["of_nothing_else"](method), "of.nothing.else")

    def test_a_variable_without_a_value_has_no_name(self):
        self.assertEqual(self.scope["deleted"](), "")


class Generations(unittest.TestCase):
    def reuse(self, capture):
        """Makes and drops code objects of one size, so that addresses are reused; returns (number, stack) of each."""
        template = compile("def f():\n  return capture()\n", "file.py", "exec").co_consts[0]
        seen = collections.defaultdict(list)
        for i in range(400):
            code = template.replace(co_name=f"f{i}", co_qualname=f"f{i}", co_filename=f"file{i}.py",
                                    co_firstlineno=i % 7 + 1)
            function = types.FunctionType(code, {"capture": capture})
            seen[id(code)].append((i, function()))
            del function, code
        return seen

    def check(self, capture):
        seen = self.reuse(capture)
        self.assertTrue(any(len(calls) > 1 for calls in seen.values()), "no address came back")
        records = Records()
        for calls in seen.values():
            for i, stack in calls:
                self.assertEqual(records.frames(stack)[0], (f"file{i}.py", f"f{i}", i % 7 + 2))
            identities = [records.stacks[stack][1][0][0] for _, stack in calls]
            self.assertEqual(len(set(identities)), len(calls))

    def test_address_used_again(self):
        self.check(HOLDING.fake_capture)

    def test_address_used_again_without_the_gil(self):
        self.check(RELEASING.fake_capture)

    def check_same_text(self, capture):
        """A code object that equals its dead predecessor in every field is still another one."""
        text = compile("def f():\n  return capture()\n", "same.py", "exec")
        identities = collections.defaultdict(list)
        for _ in range(50):
            code = text.co_consts[0].replace(co_flags=text.co_consts[0].co_flags)
            function = types.FunctionType(code, {"capture": capture})
            first, again = [function() for _ in range(2)]
            self.assertEqual(first, again)
            identities[id(code)].append(Records().stacks[again][1][0][0])
            del code, function
        self.assertTrue(any(len(found) > 1 for found in identities.values()), "no address came back")
        for found in identities.values():
            self.assertEqual(len(set(found)), len(found))

    def test_same_text_at_the_same_address(self):
        self.check_same_text(HOLDING.fake_capture)

    def test_same_text_at_the_same_address_without_the_gil(self):
        self.check_same_text(RELEASING.fake_capture)

    def test_holds_no_reference(self):
        def function():
            return HOLDING.fake_capture()

        code = function.__code__
        thing = Thing()
        before = sys.getrefcount(code), sys.getrefcount(thing), sys.getrefcount(code.co_filename)
        for _ in range(100):
            function()
        visit(thing, other_threads=True)
        self.assertEqual((sys.getrefcount(code), sys.getrefcount(thing), sys.getrefcount(code.co_filename)), before)


class Locals(unittest.TestCase):
    def test_plain_local_and_argument(self):
        def callee(argument):
            return visit(argument)[0]

        def caller():
            plain = Thing()
            alias = plain
            return callee(plain), alias

        found = names(caller()[0])
        owners = {("caller", "plain", LOCAL), ("caller", "alias", LOCAL)}
        # Since 3.14, an argument that the caller keeps in a variable is borrowed from it, and not in the object's count.
        borrowed = {("callee", "argument", LOCAL)} if sys.version_info < (3, 14) else set()
        self.assertEqual(found, owners | borrowed)

    def test_an_argument_that_nothing_else_has_is_owned(self):
        def callee(argument):
            return visit(argument)[0]

        def caller():
            return callee(Thing())

        self.assertEqual(names(caller()), {("callee", "argument", LOCAL)})

    def test_depth_line_offset_and_thread(self):
        def caller():
            mine = Thing()
            found = visit(mine)[0]; line = sys._getframe().f_lineno
            return next(l for l in found if l.name == "mine"), line

        local, line = caller()
        self.assertEqual((local.line, local.depth, local.tid), (line, 1, threading.get_native_id()))
        code = Records().codes[local.code]
        self.assertEqual(code.first_line, caller.__code__.co_firstlineno)
        self.assertEqual(caller.__code__.co_varnames[local.index], "mine")

    def test_cell_is_counted_once_under_its_owner(self):
        def owner():
            shared = Thing()

            def inner():
                return visit(shared)[0]

            return inner()

        self.assertEqual(names(owner()), {("owner", "shared", CELL)})

    def test_argument_that_is_a_cell(self):
        def owner(shared):
            return visit(shared)[0], lambda: shared

        thing = Thing()
        self.assertIn(("owner", "shared", CELL), names(owner(thing)[0]))

    def test_free_variable_whose_owner_returned(self):
        def owner():
            shared = Thing()

            def inner():
                return visit(shared)[0]

            return inner

        self.assertEqual(names(owner()()), {("inner", "shared", FREE)})

    def test_deleted_local_is_not_found(self):
        def caller():
            gone = Thing()
            keep = [gone]
            del gone
            return visit(keep[0])[0]

        self.assertEqual(names(caller()), set())

    def test_evaluation_stack_of_a_caller(self):
        def make():
            return Thing()

        def inspect(box):
            return visit(box[0])[0]

        def caller():
            box = []
            # The object waits on this frame's evaluation stack while inspect() runs.
            return (box.append(make()) or box[0], inspect(box))[1]

        found = [l for l in caller() if l.kind == EVAL_STACK]
        self.assertEqual([(Records().codes[l.code].function.split(".")[-1], l.name) for l in found], [("caller", "")])

    def test_generator_that_runs(self):
        def generator():
            mine = Thing()
            yield visit(mine)[0]

        self.assertEqual(names(next(generator())), {("generator", "mine", LOCAL)})

    def test_without_the_gil(self):
        def caller():
            mine = Thing()
            return visit(mine, library=RELEASING)[0]

        self.assertEqual(names(caller()), {("caller", "mine", LOCAL)})

    def other_thread(self, library):
        ready, stop = threading.Event(), threading.Event()
        thing = Thing()
        tids = []

        def holder(theirs):
            tids.append(threading.get_native_id())
            ready.set()
            stop.wait()

        thread = threading.Thread(target=holder, args=(thing,))
        thread.start()
        ready.wait()
        time.sleep(0.02)
        try:
            own, unseen = visit(thing, library=library)
            self.assertTrue(unseen)
            self.assertNotIn(("holder", "theirs", LOCAL), names(own))
            found, unseen = visit(thing, library=library, other_threads=True)
        finally:
            stop.set()
            thread.join()
        self.assertFalse(unseen)
        self.assertIn(("holder", "theirs", LOCAL), names(found))
        self.assertIn(("other_thread", "thing", LOCAL), names(found))
        self.assertEqual([l.tid for l in found if l.name == "theirs"], tids)

    def test_other_threads(self):
        self.other_thread(HOLDING)

    def test_other_threads_gil_free(self):
        self.other_thread(RELEASING)

    def test_alone(self):
        self.assertFalse(visit(Thing())[1])

    def test_error_indicator_stays(self):
        """Inside an except block, and in a destructor while an exception is in flight."""
        seen = []

        class Inspects:
            def __del__(self):
                seen.append(len(visit(self, other_threads=True)[0]))

        def fails():
            inspects = Inspects()
            raise ValueError("mine")

        with self.assertRaisesRegex(ValueError, "mine"):
            fails()
        gc.collect()
        self.assertEqual(len(seen), 1)


def many_names():
    lines = ["def many():"] + [f"  variable_{i} = {i}" for i in range(1200)] + ["  mine = Thing()", "  return visit(mine)[0]"]
    scope = {"Thing": Thing, "visit": visit}
    exec("\n".join(lines), scope)
    return scope["many"]


class Bodies(unittest.TestCase):
    def check(self, code, local):
        records = Records()
        self.assertEqual(records.body(local.code, 1), code.co_code)
        self.assertEqual(records.body(local.code, 2), code.co_linetable)
        self.assertEqual(records.body(local.code, 3), code.co_exceptiontable)
        slots = list(code.co_varnames) + [n for n in code.co_cellvars if n not in code.co_varnames]
        slots += list(code.co_freevars)
        self.assertEqual(records.body(local.code, 4).decode().split("\0")[:-1], slots)
        self.assertEqual(slots[local.index], "mine")

    def hot(self):
        def function(items, last):
            mine = Thing()
            total = 0
            for i in items:
                try:
                    total += i * len(self.__dict__) + max(i, 2)
                    if total > 10 and i in (3, 4):
                        total -= 1
                except TypeError:
                    pass
            return visit(mine)[0] if last else None

        for _ in range(200):  # specialises the instructions
            function(range(10), False)
        return function.__code__, function(range(10), True)

    def test_specialised_instructions_are_turned_back(self):
        code, found = self.hot()
        self.check(code, next(l for l in found if l.name == "mine"))

    def test_pieces(self):
        many = many_names()
        local = next(l for l in many() if l.name == "mine")
        self.check(many.__code__, local)
        self.assertGreater(len(Records().bodies[local.code, 4]), 1)

    def test_once(self):
        def caller():
            mine = Thing()
            return visit(mine)[0] + visit(mine)[0]

        found = [l for l in caller() if l.name == "mine"]
        self.assertEqual(len(found), 2)
        self.check(caller.__code__, found[0])

    @unittest.skipIf(sys.version_info < (3, 12), "sys.monitoring is new in 3.12")
    def test_instrumented_instructions_are_turned_back(self):
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "test")
        try:
            sys.monitoring.set_events(sys.monitoring.PROFILER_ID, events.LINE | events.INSTRUCTION | events.CALL
                                      | events.PY_START | events.PY_RETURN | events.JUMP | events.BRANCH)
            code, found = self.hot()
        finally:
            sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)
            sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
        self.check(code, next(l for l in found if l.name == "mine"))

    @unittest.skipIf(sys.version_info < (3, 13), "CPython has no optimizer of traces before 3.13")
    def test_an_optimized_loop_is_turned_back(self):
        """An optimizer replaces a jump by ENTER_EXECUTOR; few builds have one, so the test writes it there."""
        class Executor(ctypes.Structure):
            _fields_ = [("head", ctypes.c_int64 * 3), ("trace", ctypes.c_void_p), ("opcode", ctypes.c_uint8),
                        ("argument", ctypes.c_uint8)]

        class Executors(ctypes.Structure):
            _fields_ = [("size", ctypes.c_int), ("capacity", ctypes.c_int), ("first", ctypes.POINTER(Executor))]

        def function(change):
            mine = Thing()
            for _ in range(1):
                change()
                found = visit(mine)[0]
                change()
            return found

        code = function.__code__
        jump = next(i for i in dis.get_instructions(code) if i.opname == "JUMP_BACKWARD")
        bytecode = 200 if sys.version_info < (3, 14) else 208
        written = ctypes.cast(id(code) + bytecode + jump.offset, ctypes.POINTER(ctypes.c_uint8))
        executors = ctypes.cast(id(code) + 152, ctypes.POINTER(ctypes.c_void_p))
        executor = Executor(opcode=jump.opcode, argument=jump.arg)
        array = Executors(1, 1, ctypes.pointer(executor))
        states = iter([((dis.opmap["ENTER_EXECUTOR"], 0), ctypes.addressof(array)), ((jump.opcode, jump.arg), None)])

        def change():
            (written[0], written[1]), executors[0] = next(states)

        expected = code.co_code
        self.assertEqual((written[0], written[1]), (jump.opcode, jump.arg))
        local = next(l for l in function(change) if l.name == "mine")
        self.assertEqual(Records().body(local.code, 1), expected)

    def test_traced(self):
        sys.settrace(lambda *_: None)
        try:
            code, found = self.hot()
        finally:
            sys.settrace(None)
        self.check(code, next(l for l in found if l.name == "mine"))


class SourceLines(unittest.TestCase):
    def setUp(self):
        self.module = types.ModuleType("torch._inductor.codecache")
        self.module.PyCodeCache = type("PyCodeCache", (), {"linemaps": {}})
        sys.modules["torch._inductor.codecache"] = self.module

    def tearDown(self):
        del sys.modules["torch._inductor.codecache"]

    def generated(self, path):
        scope = {"Thing": Thing, "visit": visit}
        exec(compile("def call():\n  buf5 = Thing()\n  return visit(buf5)\n", path, "exec"), scope)
        return scope["call"]

    def test_published_once(self):
        path = os.path.join(tempfile.gettempdir(), "generated.py")
        self.module.PyCodeCache.linemaps[path] = [(2, 3), ('  File "model.py", line 41, in forward\n    x = 1', "b")]
        call = self.generated(path)
        call()
        call()
        lines = [row for row in Records().source_lines if row[0] == path]
        self.assertEqual(lines, [(path, 2, '  File "model.py", line 41, in forward\n    x = 1'), (path, 3, "b")])

    def test_the_module_is_found_whatever_else_is_in_the_table(self):
        """Tables of each size of an index, with names that were removed, and one whose keys are not all text."""
        others = []
        try:
            for number, many in enumerate((0, 300, 70_000)):
                others += [f"other{number}.{i}" for i in range(many)]
                sys.modules.update(dict.fromkeys(others, self.module))
                for name in others[::3]:
                    sys.modules.pop(name, None)
                self.assert_published(f"among{number}.py")
            for number, path in enumerate(("é.py", "\u4e2d.py", "\U0001f600.py")):  # texts of 1, 2 and 4 bytes a character
                self.assert_published(f"{number}{path}")
            sys.modules[self.module] = self.module  # not a text
            self.assert_published("among_others.py")
        finally:
            sys.modules.pop(self.module, None)
            for name in others:
                sys.modules.pop(name, None)

    def assert_published(self, path):
        self.module.PyCodeCache.linemaps[path] = [(2,), ("a",)]
        self.generated(path)()
        self.assertEqual([row for row in Records().source_lines if row[0] == path], [(path, 2, "a")])

    def test_published_while_nobody_has_the_gil(self):
        path = os.path.join(tempfile.gettempdir(), "generated_free.py")
        self.module.PyCodeCache.linemaps[path] = [(2,), ("a",)]
        scope = {"Thing": Thing, "visit": visit, "RELEASING": RELEASING}
        exec(compile("def call():\n  buf5 = Thing()\n  return visit(buf5, library=RELEASING)\n", path, "exec"), scope)
        scope["call"]()
        self.assertEqual([row for row in Records().source_lines if row[0] == path], [(path, 2, "a")])

    def test_prepared_at_a_gather(self):
        """The code of the frames is published before a census of them, which then writes nothing but what it found."""
        for library in (HOLDING, RELEASING):
            path = os.path.join(tempfile.gettempdir(), f"gathers_{library is HOLDING}.py")
            self.module.PyCodeCache.linemaps[path] = [(2,), ("a",)]
            scope = {"Thing": Thing, "visit": visit, "gather": lambda: library.fake_prepare_visit()}
            exec(compile("def call():\n  buf5 = Thing()\n  gather()\n  before = written()\n  return before, visit(buf5)\n",
                         path, "exec"), scope)

            def written():
                records = Records()
                return records.source_lines, dict(records.bodies)

            scope["written"] = written
            (lines, bodies), (found, _) = scope["call"]()
            self.assertEqual([row for row in lines if row[0] == path], [(path, 2, "a")])
            local = next(l for l in found if l.name == "buf5")
            self.assertEqual({part for code, part in bodies if code == local.code}, {1, 2, 3, 4})
            after = written()
            self.assertEqual(after[0], lines)
            self.assertEqual([key for key in after[1] if key[0] == local.code and after[1][key] != bodies[key]], [])
            self.assertEqual(Records().body(local.code, 1), scope["call"].__code__.co_code)

    def test_the_gil_cannot_be_asked_for(self):
        """Acquiring it can wait and, when Python finalizes, ends the thread: the provider imports no function that does
        so.
        """
        with open(os.environ["DCMT_PYTHON_PROVIDER"], "rb") as file:
            provider = file.read()
        for name in (b"PyEval_RestoreThread", b"PyEval_AcquireThread", b"PyEval_AcquireLock", b"PyGILState_Ensure"):
            self.assertNotIn(name, provider)

    def test_strange_shapes_are_left_alone(self):
        for number, linemap in enumerate([[], None, [(1, 2)], [(1, 2), ("a",)], 7, [(None, 2), ("a", None)], [{}, {}],
                                          [(1 << 80, -4), ("a", "b")]]):
            path = f"strange{number}.py"
            self.module.PyCodeCache.linemaps[path] = linemap
            self.generated(path)()
            self.assertEqual([row for row in Records().source_lines if row[0] == path], [])
        self.module.PyCodeCache = None
        self.generated("strange.py")()
        del self.module.PyCodeCache
        self.generated("strange.py")()


class End(unittest.TestCase):
    WITH_THE_GIL = (
        "import atexit, ctypes, os, sys; ctypes.PyDLL(os.environ['DCMT_FAKE_AGENT'], ctypes.RTLD_GLOBAL); "
        "ctypes.PyDLL(os.environ['DCMT_PYTHON_PROVIDER']).dcmt_provider_start(); "
    )

    def ended(self, program, start=WITH_THE_GIL):
        """The output of a program, and that of the agent at its end."""
        done = subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True,
                              env={**os.environ, "DCMT_FAKE_AGENT_SAYS_END": "1"})
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_the_agent_is_notified_once_after_the_programs_own_handlers(self):
        program = "atexit.register(print, 'handler', flush=True); print('main', flush=True)"
        self.assertEqual(self.ended(program), (0, ["main", "handler", "the program has ended"]))

    def test_a_provider_that_starts_without_the_gil_is_notified_too(self):
        # As in a program of C++ that starts its Python later.
        start = (
            "import ctypes, os, sys; agent = ctypes.PyDLL(os.environ['DCMT_FAKE_AGENT'], ctypes.RTLD_GLOBAL); "
            "ctypes.CDLL(os.environ['DCMT_PYTHON_PROVIDER']).dcmt_provider_start(); "
        )
        self.assertEqual(self.ended("print('main', flush=True)", start), (0, ["main"]))
        program = "agent.fake_capture(); print('main', flush=True)"
        self.assertEqual(self.ended(program, start), (0, ["main", "the program has ended"]))

    def test_an_exit_code_stays(self):
        self.assertEqual(self.ended("sys.exit(7)"), (7, ["the program has ended"]))

    def test_without_an_end_of_python_nobody_is_notified(self):
        self.assertEqual(self.ended("os._exit(3)"), (3, []))


class Cost(unittest.TestCase):
    def test_printed(self):
        rows = []
        for depth in (1, 8, 16, 60):
            # The test runner has frames of its own below these.
            frames = at_depth(depth, lambda: (HOLDING.fake_capture_cost(200000), len(expected_frames())))
            rows.append(f"{frames[0]:.0f} ns for {min(frames[1], 64)} frames")
        without = at_depth(16, lambda: RELEASING.fake_capture_cost(200000))
        print(f"capture_stack: {', '.join(rows)}; the third {without:.0f} ns without the GIL", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
