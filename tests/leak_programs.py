"""Programs whose leaks are known by construction, made from a seed: `leak_programs.py SEED FOLDER` writes app.py and kept.py.

`app.py` leaks, or is healthy. `app.py --clean` is the twin of one that leaks: it stores a number in place of the tensor.
"""

from __future__ import annotations

import dataclasses
import pathlib
import random
import sys


@dataclasses.dataclass(frozen=True)
class Way:
    """How a program keeps a value. `names` are regular expressions, one of which names the holder; none: it is healthy."""

    setup: str
    store: str  # VALUE stands for what is kept
    names: tuple[str, ...] = ()
    at_module: bool = False  # the setup has to be at the module's level


LEAKS = {
    "ordered_dict": Way("kept = collections.OrderedDict()", "kept[step] = VALUE", (r"\bkept\b",)),
    "dict_of_lists": Way("kept = collections.defaultdict(list)", "kept[step % 2].append(VALUE)", (r"\bkept\b",)),
    "chain_map": Way("kept = collections.ChainMap({})", "kept[step] = VALUE", (r"\bkept\b",)),
    "user_list": Way("class Log(collections.UserList): pass\nkept = Log()", "kept.append(VALUE)", (r"\bkept\.data",)),
    "named_tuples": Way("Row = collections.namedtuple('Row', 'step value')\nkept = []", "kept.append(Row(step, VALUE))",
                        (r"\bkept\b",)),
    "strong_side": Way("class Box:\n    def __init__(self, value): self.value = value\n"
                       "strong, index = [], weakref.WeakValueDictionary()",
                       "box = Box(VALUE); index[step] = box; strong.append(box); del box", (r"\bstrong\b",)),
    "slots_chain": Way("class Node:\n    __slots__ = ('value', 'next')\n"
                       "    def __init__(self, value, next): self.value, self.next = value, next\nlast = None",
                       "last = Node(VALUE, last)", (r"\blast\b",)),
    "tuple_chain": Way("history = ()", "history = (VALUE, history)", (r"\bhistory\b",)),
    "attribute_chain": Way("class Node:\n    def __init__(self, value, older): self.value, self.older = value, older\n"
                           "class Log:\n    head = None\n    def push(self, value): self.head = Node(value, self.head)\n"
                           "log = Log()", "log.push(VALUE)", (r"log\.head",)),
    "growing_tuple": Way("history = ()", "history += (VALUE,)", (r"\bhistory\b",)),
    "nonlocal": Way("def make():\n    log = ()\n    def put(value):\n        nonlocal log\n        log = (*log, value)\n"
                    "    return put\nput = make()", "put(VALUE)", (r"\blog\b",)),
    "keyword_default": Way("def put(value, *, drawer={}): drawer[len(drawer)] = value", "put(VALUE)",
                           (r"__kwdefaults__", r"drawer")),
    "function_attribute": Way("def put(value): put.log.append(value)\nput.log = []", "put(VALUE)", (r"put\.log",)),
    "metaclass": Way("class Registry(type):\n    seen = []\n    def note(cls, value): cls.seen.append(value)\n"
                     "class Thing(metaclass=Registry): pass", "Thing.note(VALUE)", (r"Registry\.seen", r"\bseen\b")),
    "package": Way("", "kept.note(VALUE)", (r"HISTORY",)),
    "cache": Way("@functools.cache\ndef scaled(key): return key.value\n"
                 "class Key:\n    def __init__(self, value): self.value = value", "scaled(Key(VALUE))", (r"scaled",)),
    "generator": Way("def collect():\n    basket = {}\n    while True: basket[len(basket)] = yield\n"
                     "sink = collect(); next(sink)", "sink.send(VALUE)", (r"basket",)),
    "simple_queue": Way("pending = queue.Queue()", "pending.put_nowait((step, VALUE))", (r"pending",)),
    "log_handler": Way("class Keep(logging.Handler):\n    def __init__(self): super().__init__(); self.records = []\n"
                       "    def emit(self, record): self.records.append(record)\n"
                       "keep = Keep(); logger = logging.getLogger('app'); logger.propagate = False\n"
                       "logger.setLevel(logging.INFO); logger.addHandler(keep)", "logger.info('%s', VALUE)",
                       (r"records",)),
    "state_of_optimizer": Way("class Tuner:\n    def __init__(self): self.state = collections.defaultdict(dict)\n"
                              "tuner = Tuner()", "tuner.state['net'].setdefault('history', []).append(VALUE)",
                              (r"tuner\.state",)),
    "parameter_list": Way("bank = torch.nn.ParameterList()",
                          "bank.append(torch.nn.Parameter(torch.as_tensor(VALUE).detach().clone(), requires_grad=False))",
                          (r"\bbank\b",)),
    "futures": Way("pool = concurrent.futures.ThreadPoolExecutor(1); futures = []",
                   "value = VALUE; futures.append(pool.submit(lambda value: value, value)); futures[-1].result(); del value",
                   (r"futures",)),
    "tasks": Way("loop = asyncio.new_event_loop(); tasks = []\nasync def wait(value): await asyncio.sleep(1e6); return value",
                 "tasks.append(loop.create_task(wait(VALUE)))", (r"tasks", r"\bloop\b")),
    "tee": Way("source = collections.deque()\ndef stream():\n    while True: yield source.popleft()\n"
               "ahead, behind = itertools.tee(stream())", "source.append(VALUE); next(ahead)", (r"behind", r"ahead")),
    "array_of_objects": Way("kept = numpy.empty(100, dtype=object)", "kept[step] = VALUE", (r"\bkept\b",)),
    "lambdas": Way("callbacks = []", "callbacks.append(lambda value=VALUE: value)", (r"callbacks",)),
    "partials": Way("callbacks = []", "callbacks.append(functools.partial(print, VALUE))", (r"callbacks",)),
    "finalizers": Way("class Owner: pass\nowner = Owner()", "weakref.finalize(owner, id, VALUE).atexit = False",
                      (r"finalize", r"_registry")),
    "keys": Way("class Key:\n    def __init__(self, value): self.value = value\nseen = {}", "seen[Key(VALUE)] = step",
                (r"\bseen\b",)),
    "event_bus": Way("class Bus:\n    def __init__(self): self.topics = {}\n"
                     "    def publish(self, topic, event): self.topics.setdefault(topic, []).append(event)\nbus = Bus()",
                     "bus.publish('step', {'n': step, 'value': VALUE})", (r"bus\.topics",)),
    "extend": Way("rows = []", "rows.extend([VALUE])", (r"\brows\b",)),
    "errors": Way("class Failed(Exception):\n    def __init__(self, value): super().__init__('failed'); self.value = value\n"
                  "failures = []",
                  "try: raise Failed(VALUE)\nexcept Failed as error: failures.append(error.with_traceback(None))",
                  (r"failures",)),
    "thread_local": Way("local = threading.local(); local.rows = {}", "local.rows[step] = VALUE", (r"\brows\b",)),
    "context": Way("trace = contextvars.ContextVar('trace', default=())", "trace.set((*trace.get(), VALUE))",
                   (r"trace", r"context")),
}
HEALTHY = {
    "bounded_cache": Way("@functools.lru_cache(maxsize=3)\ndef scaled(key): return key.value\n"
                         "class Key:\n    def __init__(self, value): self.value = value", "scaled(Key(VALUE))"),
    "weak_values": Way("class Box:\n    def __init__(self, value): self.value = value\n"
                       "index = weakref.WeakValueDictionary()", "box = Box(VALUE); index[step] = box; del box"),
    "index_ring": Way("slots = [None] * 4", "slots[step % 4] = VALUE"),
    "epoch_list": Way("rows = []", "rows.append(VALUE)\nif step % 5 == 4: rows = []"),
    "best": Way("best = None, 1e9", "best = (VALUE, -step) if -step < best[1] else best"),
    "rotated": Way("saved = collections.OrderedDict()", "saved[step] = VALUE\nif len(saved) > 2: saved.popitem(last=False)"),
    "previous_state": Way("state = None", "state = VALUE if state is None else (VALUE if step % 3 else state)"),
    "moving_mean": Way("mean = 0.0", "mean = 0.9 * mean + 0.1 * torch.as_tensor(VALUE).detach()"),
    "done_futures": Way("pool = concurrent.futures.ThreadPoolExecutor(1)",
                        "value = VALUE; pool.submit(lambda value: value, value).result(); del value"),
    "prefetch": Way("ready = queue.Queue(maxsize=2)", "if ready.full(): ready.get()\nready.put(VALUE)"),
    "numbers": Way("losses = []", "losses.append(float(torch.as_tensor(VALUE).detach().float().mean()))"),
    "first_ones": Way("examples = []", "if step < 3: examples.append(VALUE)"),
}
# Not the loss: a backward frees what its graph has saved, and the rest is small.
VALUES = {"output": "out", "detached": "out.detach()", "copy": "hidden.detach().clone()",
          "row": "hidden.detach()[0]", "input": "x"}
WRAPPED = ("VALUE", "VALUE", "VALUE", "(step, VALUE)", "{'value': VALUE}", "[VALUE]")
IMPORTS = ("import asyncio, collections, concurrent.futures, contextvars, functools, itertools, logging, queue, sys, threading, "
           "weakref\nimport numpy, torch\nimport kept\n")
WITHOUT_WRAPPING = {"parameter_list", "numbers", "moving_mean", "log_handler"}
LOOPS = ("adam", "adam", "by_hand", "evaluation", "epochs")


@dataclasses.dataclass(frozen=True)
class Truth:
    kind: str
    value: str
    loop: str
    scope: str
    turns: int
    names: tuple[str, ...]
    line: int  # of app.py: the statement that stores

    @property
    def healthy(self) -> bool:
        return not self.names


def program(seed: int, kind: str | None = None) -> tuple[str, Truth]:
    """The text of app.py, and what is true of it."""
    choice = random.Random(seed)
    healthy = choice.random() < 0.3
    kind = kind or choice.choice(sorted(HEALTHY if healthy else LEAKS))
    way = LEAKS.get(kind) or HEALTHY[kind]
    loop, scope = choice.choice(LOOPS), choice.choice(("module", "function", "method"))
    value = choice.choice(sorted(VALUES))
    if kind in ("parameter_list", "moving_mean"):
        value = "copy"
    turns, width, rows = choice.choice((8, 12, 20, 30)), choice.choice((256, 384)), choice.choice((128, 256))
    wrapped = "VALUE" if kind in WITHOUT_WRAPPING else choice.choice(WRAPPED)
    number = f"float(torch.as_tensor({VALUES[value]}).float().mean())"
    kept = VALUES[value] if way.names == () else f"({number} if CLEAN else {VALUES[value]})"
    store = way.store.replace("VALUE", wrapped.replace("VALUE", kept)).split("\n")
    forward = [f"x = torch.randn({rows}, {width})", "hidden = net[0](x)", "out = net[1:](hidden)",
               "loss = (out - x).pow(2).mean()"]
    update = {"adam": ["loss.backward(); optimizer.step(); optimizer.zero_grad()"],
              "epochs": ["loss.backward(); optimizer.step(); optimizer.zero_grad()"],
              "by_hand": ["loss.backward()", "with torch.no_grad():", "    for p in net.parameters(): p -= 0.01 * p.grad; p.grad = None"],
              "evaluation": []}[loop]
    turn = [*forward, *update, *store, "del x, hidden, out, loss"]
    if loop == "evaluation":
        turn = ["with torch.no_grad():", *("    " + line for line in forward), *store, "del x, hidden, out, loss"]
    setup = way.setup.split("\n") if way.setup else []
    make = [f"net = torch.nn.Sequential(torch.nn.Linear({width}, {width}), torch.nn.GELU(), torch.nn.Linear({width}, {width}))"]
    if "optimizer" in " ".join(update):
        make.append("optimizer = torch.optim.AdamW(net.parameters(), 1e-3)")
    loops = [f"for step in range({turns}):", *("    " + line for line in turn)]
    if loop == "epochs":
        loops = [f"for epoch in range({turns // 4}):", "    for batch in range(4):", "        step = 4 * epoch + batch",
                 *("        " + line for line in turn)]
    body = [*make, *setup, *loops]
    head = [*IMPORTS.splitlines(), "torch.manual_seed(0); torch.set_num_threads(1)", "CLEAN = '--clean' in sys.argv"]
    if scope == "function":
        body = ["def train():", *("    " + line for line in body), "train()"]
    if scope == "method":
        body = ["class Trainer:", "    def fit(self):", *("        " + line for line in body), "Trainer().fit()"]
    lines = [*head, *body]
    line = next(number for number, text in enumerate(lines, 1) if text.strip() == store[0].strip())
    return "\n".join(lines) + "\n", Truth(kind, value, loop, scope, turns, way.names, line)


LIBRARY = '"""A module of a package."""\nHISTORY = []\n\n\ndef note(value):\n    HISTORY.append(value)\n'


def write(folder: pathlib.Path, seed: int, kind: str | None = None) -> Truth:
    folder.mkdir(parents=True, exist_ok=True)
    text, truth = program(seed, kind)
    (folder / "app.py").write_text(text)
    (folder / "kept.py").write_text(LIBRARY)
    return truth


if __name__ == "__main__":
    print(write(pathlib.Path(sys.argv[2]), int(sys.argv[1])))
