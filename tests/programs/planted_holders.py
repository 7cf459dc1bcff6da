"""Keeps one tensor by each kind of holder, writes what is expected of a snapshot, and waits to be inspected.

Usage: planted_holders.py FILE. FILE gets, for each kind, the address and the bytes of the tensor's data and the beginning of the
path that names its holder. Every tensor has a size of its own, so none shares memory with another.

The program reads its input to its end. A first line has expressions in JSON, each with an address: it prints those whose value
is no tensor with its data there. Each further line is a statement: a forked child runs it and prints the kinds whose storages
have gone then, or nothing where the statement fails.
"""

import asyncio
import collections
import contextvars
import ctypes
import dataclasses
import functools
import gc
import inspect
import io
import itertools
import json
import operator
import os
import pickle
import re
import sys
import threading
import types
import weakref

import numpy
import torch
import torch.fx
from torch.multiprocessing.reductions import StorageWeakRef

expected: dict[str, tuple[int, int, str]] = {}
storages: dict[str, StorageWeakRef] = {}


def expect(kind: str, tensor: torch.Tensor, path: str) -> torch.Tensor:
    expected[kind] = (tensor.data_ptr(), tensor.untyped_storage().nbytes(), path)
    storages[kind] = StorageWeakRef(tensor.untyped_storage())
    return tensor


def kept(kind: str, path: str) -> torch.Tensor:
    return expect(kind, torch.ones(40000 + len(expected)), path)


def send(queue, received):
    queue.put(torch.ones(226, 225))
    received.wait()


# Before torch has threads, which a forked process lacks.
processes = torch.multiprocessing.get_context("fork")
queue, received = processes.Queue(), processes.Event()
sender = processes.Process(target=send, args=(queue, received))
sender.start()
RECEIVED = expect("sent by another process", queue.get(), "main.RECEIVED")
received.set()
sender.join()


class Plain:
    pass


class Slots:
    __slots__ = ("first", "second")


@dataclasses.dataclass
class Data:
    x: object


class Bound:
    def __init__(self, x):
        self.x = x

    def method(self):
        pass


GLOBAL = kept("global", "main.GLOBAL")
LIST = [None, 0, kept("list", "main.LIST[2]")]
DICT = {"a": 1, "b": kept("dict", "main.DICT['b']")}
BY_NUMBER = {7: kept("dict with an int key", "main.BY_NUMBER[7]")}
BY_TUPLE = {("x", 3): kept("dict with a tuple key", "main.BY_TUPLE[('x', 3)]")}
NESTED = {"a": [{"b": (kept("nested containers", "main.NESTED['a'][0]['b'][0]"),)}]}
SET = {kept("set", "main.SET{item}")}
TUPLE = (1, kept("tuple", "main.TUPLE[1]"))
DEQUE = collections.deque(range(100), maxlen=101)
DEQUE.append(kept("deque", "main.DEQUE[2]"))
DEQUE.rotate(3)
ORDERED = collections.OrderedDict(k=kept("OrderedDict", "main.ORDERED['k']"))
DEFAULT = collections.defaultdict(list)
DEFAULT["q"].append(kept("defaultdict", "main.DEFAULT['q'][0]"))
ATTRIBUTE = Plain()
ATTRIBUTE.kept = kept("attribute", "main.ATTRIBUTE.kept")
WIDE = Plain()
for number in range(60):
    setattr(WIDE, f"f{number}", number)
WIDE.kept = kept("attribute of many", "main.WIDE.kept")
SLOTS = Slots()
SLOTS.second = kept("slot", "main.SLOTS.second")


class SlotOfList(list):
    __slots__ = ("kept",)


class SlotOfDict(dict):
    __slots__ = ("kept",)


SLOT_OF_LIST, SLOT_OF_DICT = SlotOfList(), SlotOfDict()
SLOT_OF_LIST.kept = kept("slot of a list", "main.SLOT_OF_LIST.kept")
SLOT_OF_DICT.kept = kept("slot of a dict", "main.SLOT_OF_DICT.kept")
DATA = Data(kept("dataclass", "main.DATA.x"))
Plain.of_class = kept("class attribute", "main.Plain.of_class")


def make_closure(x):
    def inner():
        return x

    return inner


CLOSURE = make_closure(kept("closure", "main.CLOSURE.__closure__['x']"))


def with_default(x=kept("default argument", "main.with_default.__defaults__[0]")):
    pass


def with_keyword(*, x=kept("keyword default", "main.with_keyword.__kwdefaults__['x']")):
    pass


def with_attribute():
    pass


with_attribute.kept = kept("function attribute", "main.with_attribute.kept")
PARTIAL = functools.partial(print, kept("partial", "main.PARTIAL.args[0]"))
METHOD = Bound(kept("bound method", "main.METHOD.__self__.x")).method


@functools.lru_cache(None)
def cached(number):
    return kept("lru_cache", "main.cached (lru_cache)[3]")


@functools.lru_cache(8)
def cached_bounded(number):
    return kept("bounded lru_cache", "main.cached_bounded (lru_cache)[3] (result)")


@functools.cache
def cached_argument(tensor, number):
    return number


cached(3)
cached_bounded(3)
cached_argument(kept("lru_cache's argument", "main.cached_argument (lru_cache).key((<Tensor>, 3))[0]"), 3)


def generate():
    suspended = kept("suspended generator", "main.GENERATOR.gi_frame generate (planted_holders.py:")
    yield 1
    yield suspended


GENERATOR = generate()
next(GENERATOR)


class Once:
    def __await__(self):
        yield 1


async def wait():
    held = kept("coroutine", "main.COROUTINE.gi_frame wait (planted_holders.py:")
    await Once()
    return held


COROUTINE = wait()
COROUTINE.send(None)


def fail():
    batch = kept("traceback", "main.ERROR.__traceback__.tb_next.tb_frame fail (planted_holders.py:")
    raise ValueError(batch.shape)


try:
    fail()
except ValueError as error:
    ERROR = error

LOCAL = threading.local()
LOCAL.kept = kept("thread-local", "main.LOCAL (by thread)")
started, stopped = threading.Event(), threading.Event()


def work():
    mine = kept("a thread's local variable", "work (planted_holders.py:")
    started.set()
    stopped.wait()
    return mine


threading.Thread(target=work, daemon=True).start()
started.wait()
CONTEXT = contextvars.ContextVar("CONTEXT")
CONTEXT.set(kept("context variable", "main.CONTEXT (value)"))
COPY = contextvars.Context()
variable = contextvars.ContextVar("variable")
COPY.run(variable.set, kept("variable of a context", "main.COPY[<variable>]"))
del variable
APPEND = [kept("bound method of a list", "main.APPEND.__self__[0]")].append
module = types.ModuleType("planted_module")
sys.modules["planted_module"] = module
module.kept = kept("module attribute", "planted_module.kept")
SET_ITEM = {"z": kept("method wrapper", "main.SET_ITEM.__self__['z']")}.__setitem__
PROPERTY = property(functools.partial(print, kept("property", "main.PROPERTY.fget.args[0]")))
ITERATOR = iter([kept("iterator", "main.ITERATOR (iterates)[0]")])
MAP = map(functools.partial(print, kept("map", "main.MAP (function).args[0]")), [])
VALUES = {"z": kept("view of a dict", "main.VALUES (dict)['z']")}.values()
PROXY = types.MappingProxyType({"z": kept("mapping proxy", "main.PROXY (mapping)['z']")})


def tensors(kind: str, path: str):
    """An iterator over more tensors than a block of itertools.tee has; one far behind is expected."""
    yield from (torch.ones(1) for _ in range(60))
    yield kept(kind, path)


def taken(iterator, count: int = 1):
    for _ in range(count):
        next(iterator)
    return iterator


FIRST, BEHIND = itertools.tee(tensors("itertools.tee", "main.BEHIND (ahead) (next)[3]"))
taken(FIRST, 61)
del FIRST
CYCLE = taken(itertools.cycle([kept("itertools.cycle", "main.CYCLE")]), 1)
CHAIN = taken(itertools.chain([1], [kept("itertools.chain", "main.CHAIN (iterates)")]))
TOTAL = taken(itertools.accumulate([kept("itertools.accumulate", "main.TOTAL (total)"), 1]))
PREVIOUS = taken(itertools.pairwise(iter([0, kept("itertools.pairwise", "main.PREVIOUS (previous)")])))
REPEATED = taken(itertools.islice(itertools.repeat(kept("itertools.repeat", "main.REPEATED (iterates) (repeats)")), 3))
CHOICES = itertools.permutations([kept("itertools.permutations", "main.CHOICES (pool)[0]")])
PRODUCT = itertools.product([kept("itertools.product", "main.PRODUCT (pools)[0][0]")])
GROUPS = taken(itertools.groupby([kept("itertools.groupby", "main.GROUPS (value)"), 1], key=id))
FILLED = itertools.zip_longest(iter([1]), fillvalue=kept("itertools.zip_longest", "main.FILLED (fill)"))
ENUMERATED = enumerate([kept("enumerate", "main.ENUMERATED (iterates) (iterates)[0]")])
ZIPPED = zip([kept("zip", "main.ZIPPED (iterators)[0] (iterates)[0]")])


def one(kind: str, path: str):
    yield kept(kind, path)


LAST_PAIR = taken(enumerate(one("last pair of enumerate", "main.LAST_PAIR (result)[1]")))
LAST_ZIPPED = taken(zip(one("last tuple of zip", "main.LAST_ZIPPED (result)[0]")))
LAST_FILLED = taken(itertools.zip_longest(one("last tuple of zip_longest", "main.LAST_FILLED (result)[0]")))
LAST_ITEM = taken(iter({"z": kept("last item of a dict", "main.LAST_ITEM (result)[1]")}.items()))
COMBINED = taken(itertools.combinations(one("itertools.combinations", "main.COMBINED (result)[0]"), 1))
REPLACED = taken(itertools.combinations_with_replacement(one("combinations with replacement", "main.REPLACED (result)[0]"), 1))
PERMUTED = taken(itertools.permutations(one("last permutation", "main.PERMUTED (result)[0]"), 1))
LAST_PRODUCT = taken(itertools.product(one("last product", "main.LAST_PRODUCT (result)[0]")))
FILTERED = filter(functools.partial(print, kept("filter", "main.FILTERED (function).args[0]")), [])
STARRED = itertools.starmap(functools.partial(print, kept("itertools.starmap", "main.STARRED (function).args[0]")), [])
REVERSED = reversed([kept("reversed", "main.REVERSED (iterates)[0]")])
OF_SET = iter({kept("iterator of a set", "main.OF_SET (iterates){item}")})
OF_DEQUE = iter(collections.deque([kept("iterator of a deque", "main.OF_DEQUE (iterates)[0]")]))
OF_ITEMS = iter({"z": kept("iterator of a dict", "main.OF_ITEMS (dict)['z']")}.items())
CALLED = iter(functools.partial(print, kept("iterator of a function", "main.CALLED (function).args[0]")), 0)
STATIC = staticmethod(functools.partial(print, kept("static method", "main.STATIC.__func__.args[0]")))
SLICE = slice(kept("slice", "main.SLICE.start"), None)
CALLER = operator.methodcaller("f", kept("operator.methodcaller", "main.CALLER (arguments)[0]"))
VIEWED = memoryview(kept("memory view", "main.VIEWED.obj.base").numpy())
VARIABLE = contextvars.ContextVar("VARIABLE")
VARIABLE.set(kept("token of a context variable", "main.TOKEN (old value)"))
TOKEN = VARIABLE.set(None)
LOOP = asyncio.new_event_loop()
FUTURE = LOOP.create_future()
FUTURE.set_result(kept("future", "main.FUTURE (result)"))
CALLBACKS = LOOP.create_future()
CALLBACKS.add_done_callback(functools.partial(print, kept("callback of a future", "main.CALLBACKS (callback).args[0]")))
CALLBACKS.add_done_callback(
    functools.partial(print, kept("second callback of a future", "main.CALLBACKS (callbacks)[0][0].args[0]"))
)
PICKLER = pickle.Pickler(io.BytesIO())
PICKLER.dump([kept("memo of a pickler", "main.PICKLER")])
TRACED = torch.fx.symbolic_trace(torch.nn.ReLU())
TRACED.graph._root.next.meta["kept"] = kept("member of a type in C", "main.TRACED._graph._root._next.meta['kept']")
STOPPED = StopIteration(kept("value of an exception", "main.STOPPED"))
NAMESPACE = types.SimpleNamespace(kept=kept("namespace", "main.NAMESPACE.kept"))
WEAK_KEYS = weakref.WeakKeyDictionary()
key = Plain()
WEAK_KEYS[key] = kept("weak-key dict", "main.WEAK_KEYS.data[")


class Cyclic:
    pass


def make_cycle():
    lost = Cyclic()
    lost.me = lost
    lost.kept = kept("cycle", "cycle Cyclic.me → Cyclic (Python's collector is off)")


class Frozen:
    pass


def freeze_cycle():
    lost = Frozen()
    lost.me = lost
    lost.kept = kept("frozen cycle", "cycle Frozen.me → Frozen (hidden from Python's collector by gc.freeze)")
    del lost
    gc.freeze()


gc.disable()  # or it may free what the next line makes, before anybody has seen it
freeze_cycle()
make_cycle()

# What autograd and modules keep.
weight = torch.ones(300, 300, requires_grad=True)
LOSS = ((torch.ones(300, 300) + 1) @ weight).relu().sum()


def gradient_with_a_graph() -> None:
    """Two layers: how many nodes lead back to the weight does not show."""
    weight = kept("gradient's graph", "cycle AccumulateGrad.variable → CopyBackwards.next_functions[1] → … → AccumulateGrad "
                  "(through autograd nodes, which Python's collector cannot see)").requires_grad_()
    ((weight * 2).tanh() * 3).square().sum().backward(create_graph=True)


gradient_with_a_graph()
expect("saved by a node", LOSS.grad_fn.next_functions[0][0]._saved_result, "main.LOSS.grad_fn SumBackward0 … 1 node → ReluBackward0._saved_result")


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        ctx.extra = kept("attribute of a context", "main.OUTPUT.grad_fn PyNode (ctx).extra")
        return a * 2

    @staticmethod
    def backward(ctx, grad):
        return grad, None


OUTPUT = Twice.apply(weight, kept("saved by a context", "main.OUTPUT.grad_fn PyNode (ctx).saved_tensors[0]"))


class Probe:
    def __init__(self):
        self.seen = [kept("forward hook", "main.net[1]._forward_hooks[0].__self__.seen[0]")]

    def save(self, module, inputs, output):
        pass


net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
net[1].register_forward_hook(Probe().save)
net.register_buffer("table", kept("buffer", "main.net.table"))
weight.register_hook(functools.partial(lambda tensor, grad: None, kept("tensor hook", "main.weight._backward_hooks[")))
model = torch.nn.Linear(203, 203)
model(torch.ones(1, 203)).sum().backward()
expect("parameter", model.weight, "main.model.weight")
expect("gradient", model.weight.grad, "main.model.weight.grad")
base = kept("base of a view", "main.VIEW")
VIEW = base.view(-1)
del base
ARRAY = kept("numpy array", "main.ARRAY.base").numpy()
CAPSULE = torch.utils.dlpack.to_dlpack(kept("DLPack", "main.CAPSULE (DLPack)"))
EXCHANGED = numpy.from_dlpack(kept("numpy array by DLPack", "main.EXCHANGED.base"))
SHARED = expect("shared memory", torch.ones(39999).share_memory_(), "main.SHARED")
NOTED = weight * 1
NOTED.note = kept("attribute of a tensor", "main.NOTED.note")


learner = torch.nn.Linear(207, 207)
ADAM = torch.optim.Adam(learner.parameters())
learner(torch.ones(1, 207)).sum().backward()
ADAM.step()
expect("optimizer state", ADAM.state[learner.weight]["exp_avg"], "main.ADAM.state[<Parameter>]['exp_avg']")
expect("optimizer state, another", ADAM.state[learner.weight]["exp_avg_sq"], "main.ADAM.state[<Parameter>]['exp_avg_sq']")
master = torch.zeros(40001)  # in place of several parameters, as sharded optimizers have it
master.grad = torch.ones(40001)
FLAT = torch.optim.Adam([master])
FLAT.step()
expect("optimizer state of a plain tensor", FLAT.state[master]["exp_avg"], "main.FLAT.state[<Tensor>]['exp_avg']")
PAST = torch.optim.SGD([torch.zeros(40007)])  # LBFGS keeps lists, and a step has the dictionary in a variable
PAST_STATE = PAST.state[PAST.param_groups[0]["params"][0]]
PAST_STATE["old"] = [expect("optimizer state in a list", torch.ones(40007), "main.PAST_STATE['old'][0]")]


class Outer(torch.Tensor):
    """A tensor without memory of its own, as a DTensor is."""

    __slots__ = ("inner",)

    @staticmethod
    def __new__(cls, inner):
        outer = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        outer.inner = inner
        return outer

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), options=None):
        inner = [each.inner if isinstance(each, Outer) else each for each in arguments]
        result = function(*inner, **{name: value for name, value in (options or {}).items() if name != "device"})
        return Outer(result) if torch.is_tensor(result) else result


def outer(kind, path):
    return torch.nn.Parameter(Outer(kept(kind, path)))


WRAPPED = torch.nn.Module()
WRAPPED.weight = outer("inside a parameter", "main.WRAPPED.weight.inner")
OF_OUTER = torch.optim.SGD([outer("inside what an optimizer updates", "main.updated.inner")], momentum=0.9)
updated = OF_OUTER.param_groups[0]["params"][0]
updated.grad = Outer(torch.ones_like(updated.inner))
expect("inside a gradient", updated.grad.inner, "main.updated.grad.inner")
OF_OUTER.step()
expect(
    "inside an optimizer's state",
    next(iter(OF_OUTER.state.values()))["momentum_buffer"].inner,
    "main.OF_OUTER.state[<Outer>]['momentum_buffer'].inner",
)
BUCKET = expect("buffer with a gradient in it", torch.zeros(40003), "main.BUCKET")
reduced = torch.nn.Parameter(torch.zeros(30))
reduced.grad = BUCKET[:30]
DATASET = expect("dataset with a saved batch", torch.zeros(40005), "main.DATASET")
OF_BATCH = DATASET[:30] * reduced
net[0].register_full_backward_hook(functools.partial(lambda kept, *_: None, kept("backward hook", "main.net[0]._backward_hooks[")))


class Packed:
    def __init__(self, tensor):
        self.tensor = tensor.clone()


with torch.autograd.graph.saved_tensors_hooks(Packed, lambda packed: packed.tensor):
    PACKED = weight.exp()
expect(
    "packed by a hook",
    next(each.tensor for each in gc.get_objects() if type(each) is Packed),
    "main.PACKED.grad_fn ExpBackward0._saved_result (packed by hook).tensor",
)


class Scripted(torch.nn.Module):
    items: list[torch.Tensor]
    named: dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.items = [kept("IValue list", "main.SCRIPT.")]
        self.named = {"k": kept("IValue dict", "main.SCRIPT.")}

    def forward(self, x):
        return x


SCRIPT = torch.jit.script(Scripted())


def saved_by(name, make, node, field):
    """A tensor of its own size that the node of an operator saves and nothing else holds."""
    x = torch.ones(214 + len(NODES), 215, requires_grad=True) + 0
    result = make(x)
    expect(f"saved by {name}", getattr(result.grad_fn, field), f"main.NODES['{name}'].grad_fn {node}.{field}")
    return result


NODES: dict[str, torch.Tensor] = {}
for name, make, node, field in (
    ("mul", lambda x: x * torch.ones_like(x), "MulBackward0", "_saved_other"),
    ("pow", lambda x: x.pow(3), "PowBackward0", "_saved_self"),
    ("layer norm", lambda x: torch.nn.functional.layer_norm(x, [215]), "NativeLayerNormBackward0", "_saved_input"),
    ("gelu", torch.nn.functional.gelu, "GeluBackward0", "_saved_self"),
    ("mm", lambda x: x @ torch.ones(215, 216), "MmBackward0", "_saved_mat2"),
    ("where", lambda x: torch.where(torch.ones(x.shape, dtype=torch.bool), x, x), "WhereBackward0", "_saved_condition"),
    ("log", torch.log, "LogBackward0", "_saved_self"),
    ("div", lambda x: x / torch.ones_like(x), "DivBackward0", "_saved_other"),
    ("abs", torch.abs, "AbsBackward0", "_saved_self"),
    ("silu", torch.nn.functional.silu, "SiluBackward0", "_saved_self"),
):
    NODES[name] = saved_by(name, make, node, field)


def use_up_free_memory() -> None:
    """Uses up malloc's free memory, so that what is allocated next lies where no object was before.

    The unused end of an allocation may still have the address of an object from before, and then the search of C++ memory
    proves nothing for the object that has this address now.
    """
    libc = ctypes.PyDLL(None)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    end = libc.sbrk(0)
    for size in range(4096, 23, -16):
        while libc.malloc(size) < end:
            pass


# What libraries keep: a weight that autocast has cast, and a bucket of gradients.
use_up_free_memory()
CAST = torch.ones(221, 222, requires_grad=True)
torch.autocast("cpu", torch.bfloat16).__enter__()
cast = torch.ones(2, 221, requires_grad=True) @ CAST
expect("autocast's cache", cast.grad_fn._saved_mat2, "libtorch_cpu.so: at::autocast::")
del cast

os.environ |= {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
DDP = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(223, 224))


def note_bucket(_, bucket):
    expect("a reducer's bucket", bucket.buffer(), "main.DDP.reducer → Reducer")
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


DDP.register_comm_hook(None, note_bucket)
DDP(torch.ones(2, 223)).sum().backward()


# These hold nothing.
WEAK = weakref.ref(LIST[2])
WEAK_VALUES = weakref.WeakValueDictionary(x=LIST[2])


def is_at(expression, address):
    """Whether the value of `expression`, a path that was named, is a tensor whose data begins at `address`."""
    try:
        # A closure has its variables by number.
        expression = re.sub(r"([\w.]+)\.__closure__\[('\w+')\]", r"inspect.getclosurevars(\1).nonlocals[\2]", expression)
        value = eval(expression.removeprefix("main.").replace("(main.", "("), globals())
    except Exception:
        return False
    return isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() == address


def gone_after(statement):
    try:
        exec(statement, globals())
    except Exception:
        return None
    gc.collect()
    return [kind for kind, storage in storages.items() if storage.expired()]


def hold():
    local = kept("local variable", "hold (planted_holders.py:")
    with open(sys.argv[1] + ".new", "w") as file:
        json.dump(expected, file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    named = json.loads(sys.stdin.readline() or "{}")
    print(json.dumps([path for path, address in named.items() if not is_at(path, address)]), flush=True)
    for statement in sys.stdin:
        child = os.fork()
        if child == 0:
            print(json.dumps(gone_after(statement)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    return local


hold()
