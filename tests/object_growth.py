"""Programs whose Python objects grow, in many ways, each with a healthy twin that does the same work and lets go.

A program makes small tensors only. In a training it has its memory read after each of five parts of its steps, and waits
meanwhile: what the readings count depends on no clock. Without steps it runs for some seconds, and is read by the
recorder's schedule. With a number it runs, without the tool, until it has so many entries, and prints their bytes by
tracemalloc: an independent count.
"""

from __future__ import annotations

import dataclasses
import textwrap

HEAD = """
import asyncio, collections, functools, logging, os, queue, sys, time, tracemalloc
import numpy as np
import torch
import dc_memtrace
torch.set_num_threads(1)
ROUNDS, TRAIN = 300, {train}
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 0
{module}

def main():
{setup}
    weight = torch.nn.Parameter(torch.ones(8))
    optimizer = torch.optim.SGD([weight], 0.01)
    if COUNT:
        tracemalloc.start()
    for i in range(ROUNDS):
        value = float((weight * i).sum())
{body}
        if TRAIN:
            optimizer.zero_grad()
            (weight * 2).sum().backward()
            optimizer.step()
        if COUNT:
            if entries() >= COUNT:
                break
        elif not TRAIN:
            time.sleep(0.01)
        elif (i + 1) % (ROUNDS // 5) == 0 and not dc_memtrace.find_holders(100):
            raise SystemExit("its memory could not be read")
    if COUNT:
        print(tracemalloc.get_traced_memory()[0], entries())
    elif TRAIN:
        os._exit(0)  # else a reading could find that the function has returned
"""

RUN = """
main()
"""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    holder: str  # of the collection, as a report names it
    body: str  # one round
    healthy: str  # the same, of the twin
    entries: str  # expression: the number of entries
    module: str = ""
    setup: str = ""
    run: str = RUN
    entry_type: str | None = None
    healthy_module: str | None = None
    healthy_setup: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    statement: str = ""  # text of the line that adds
    is_shared: bool = False  # others hold parts of the entries, and have their share of the bytes

    def program(self, healthy: bool = False, train: bool = True) -> str:
        module = self.healthy_module if healthy and self.healthy_module is not None else self.module
        setup = self.healthy_setup if healthy and self.healthy_setup is not None else self.setup
        body = self.healthy if healthy else self.body

        def indented(text: str, by: int) -> str:
            return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by)

        text = HEAD.format(train=train, module=textwrap.dedent(module),
                           setup=indented(f"{textwrap.dedent(setup)}\nentries = lambda: {self.entries}", 4),
                           body=indented(body, 8))
        run = self.run
        if run != RUN:
            text = text.replace("def main():", "async def main():")
        return text + run


RECORD = '{"id": i, "name": f"request {i} {j} of the run", "value": value + j}'

CASES = [
    Case("list_of_dicts", "main: records", entry_type="dict", setup="records = []", entries="len(records)",
         body=f"for j in range(100):\n    records.append({RECORD})",
         healthy=f"for j in range(100):\n    records.append({RECORD})\ndel records[:-100]", statement="records.append("),
    Case("list_of_texts", "main.LOG", entry_type="str", module="LOG = []", entries="len(LOG)",
         body='for j in range(100):\n    LOG.append(f"{i} {j}: the loss was {value:.9f}, " * 8)',
         healthy='LOG.clear()\nfor j in range(100):\n    LOG.append(f"{i} {j}: the loss was {value:.9f}, " * 8)',
         statement="LOG.append("),
    Case("list_of_tuples", "main: rows", entry_type="tuple", setup="rows = []", entries="len(rows)",
         body='for j in range(200):\n    rows.append((i * 1000 + j, value + j, f"row {i} {j}"))',
         healthy='rows = []\nfor j in range(200):\n    rows.append((i * 1000 + j, value + j, f"row {i} {j}"))',
         statement="rows.append("),
    Case("dict_by_request", "main.PENDING", entry_type="dict", module="PENDING = {}", entries="len(PENDING)",
         body='for j in range(60):\n    PENDING[f"request-{i}-{j}"] = {"at": value + j, "payload": bytes(200 + j)}',
         healthy='for j in range(60):\n    PENDING[f"request-{i}-{j}"] = {"at": value + j, "payload": bytes(200 + j)}\n'
                 'for j in range(60):\n    PENDING.pop(f"request-{i}-{j}")', statement="PENDING["),
    Case("lru_cache_by_argument", "main.table (lru_cache)", entries="table.cache_info().currsize",
         module="@functools.lru_cache(None)\ndef table(i):\n    return [float(i + k) for k in range(8)]",
         healthy_module="@functools.lru_cache(256)\ndef table(i):\n    return [float(i + k) for k in range(8)]",
         body="for j in range(60):\n    table(i * 1000 + j)", healthy="for j in range(60):\n    table(i * 1000 + j)"),
    Case("logging_handler", "main.HANDLER.records", entry_type="LogRecord", entries="len(HANDLER.records)",
         module="""
            class Keep(logging.Handler):
                def __init__(self, most):
                    super().__init__()
                    self.records = []
                    self.most = most

                def emit(self, record):
                    self.records.append(record)
                    del self.records[:-self.most]

            HANDLER = Keep(10 ** 9)
            logging.getLogger("steps").addHandler(HANDLER)
            logging.getLogger("steps").setLevel(logging.INFO)
            """,
         healthy_setup="HANDLER.most = 100",
         body='for j in range(30):\n    logging.getLogger("steps").info("step %d: %f", i * 1000 + j, value + j)',
         healthy='for j in range(30):\n    logging.getLogger("steps").info("step %d: %f", i * 1000 + j, value + j)',
         statement="self.records.append("),
    Case("deque_never_drained", "main: waiting", entry_type="bytes", setup="waiting = collections.deque()",
         healthy_setup="waiting = collections.deque(maxlen=1000000)", entries="len(waiting)",
         body="for j in range(60):\n    waiting.append(bytes(500))",
         healthy="for j in range(60):\n    waiting.append(bytes(500))\nwhile len(waiting) > 50:\n    waiting.popleft()",
         statement="waiting.append("),
    Case("queue_never_drained", "main: results.queue", entry_type="list", setup="results = queue.Queue()",
         entries="results.qsize()", body="for j in range(60):\n    results.put([value + k + j for k in range(10)])",
         healthy="for j in range(60):\n    results.put([value + k + j for k in range(10)])\n"
                 "while not results.empty():\n    results.get()", statement="results.put("),
    Case("asyncio_tasks", "run: main.gi_frame main: background", entry_type="Task", entries="len(background)",
         module="async def wait(event, i):\n    note = [float(i)] * 20\n    await event.wait()\n    return note",
         setup="background, never = set(), asyncio.Event()",
         body="for j in range(25):\n    background.add(asyncio.create_task(wait(never, i)))\nawait asyncio.sleep(0)",
         healthy="for j in range(25):\n    background.add(asyncio.create_task(wait(never, i)))\nawait asyncio.sleep(0)\n"
                 "never.set()\nawait asyncio.sleep(0)\nawait asyncio.sleep(0)\nbackground.clear()\nnever.clear()",
         run="\nasyncio.run(main())\n", statement="background.add(", is_shared=True),
    Case("exception_history", "main: errors", entry_type="ValueError", setup="errors = []", entries="len(errors)",
         module="def fail(i):\n    rows = [float(i + k) for k in range(50)]\n    raise ValueError(f'round {i}', len(rows))",
         body="for j in range(15):\n    try:\n        fail(i * 1000 + j)\n    except ValueError as error:\n"
              "        errors.append(error)",
         healthy="for j in range(15):\n    try:\n        fail(i * 1000 + j)\n    except ValueError as error:\n"
                 "        errors[:] = [str(error)]", statement="errors.append("),
    Case("array_of_objects", "main: history", setup="history = np.empty(0, dtype=object)", entries="len(history)",
         body="made = np.empty(120, dtype=object)\nmade[:] = [(value + k, str(k) * 100) for k in range(120)]\n"
              "history = np.append(history, made)",
         healthy="made = np.empty(120, dtype=object)\nmade[:] = [(value + k, str(k) * 100) for k in range(120)]\n"
                 "history = np.append(history, made)[-120:].copy()", entry_type="tuple"),
    Case("registry_of_a_class", "main.Request.made", entry_type="Request", entries="len(Request.made)",
         module="""
            class Request:
                made = []

                def __init__(self, number):
                    self.number, self.text = number, f"request {number}" * 5
                    Request.made.append(self)
            """,
         body="for j in range(80):\n    Request(i * 1000 + j)",
         healthy="for j in range(80):\n    Request(i * 1000 + j)\nRequest.made.clear()", statement="Request.made.append("),
    Case("list_in_a_closure", "main.note.__closure__['kept']", entry_type="dict", entries="len(kept_of(note))",
         module="""
            def make():
                kept = []
                def note(row):
                    kept.append(row)
                return note

            note = make()
            kept_of = lambda function: function.__closure__[0].cell_contents
            """,
         body=f"for j in range(100):\n    note({RECORD})",
         healthy=f"for j in range(100):\n    note({RECORD})\nkept_of(note).clear()", statement="kept.append("),
    Case("global_of_a_module", "store.CACHE", entry_type="list", module="import store", entries="len(store.CACHE)",
         files=(("store.py", "CACHE = {}\n\n\ndef keep(key, row):\n    CACHE[key] = row\n"),),
         body="for j in range(60):\n    store.keep((i, j), [value + k for k in range(10)])",
         healthy="for j in range(60):\n    store.keep((0, j), [value + k for k in range(10)])", statement="CACHE["),
    Case("defaultdict_of_lists", "main: by_key[*]", entry_type="dict", setup="by_key = collections.defaultdict(list)",
         entries="sum(map(len, by_key.values()))",
         body=f"for j in range(100):\n    by_key[j % 40].append({RECORD})",
         healthy=f"for j in range(100):\n    by_key[j % 40].append({RECORD})\n    del by_key[j % 40][:-4]",
         statement="by_key["),
    Case("attribute_of_objects_in_a_list", "main: users[*].history", entry_type="dict",
         module="class User:\n    def __init__(self):\n        self.history = []",
         setup="users = [User() for _ in range(5)]", entries="sum(len(user.history) for user in users)",
         body=f"for j in range(100):\n    users[j % 5].history.append({RECORD})",
         healthy=f"for j in range(100):\n    users[j % 5].history.append({RECORD})\n"
                 "for user in users:\n    user.history.clear()", statement="history.append("),
    Case("set_of_texts", "main.SEEN", entry_type="str", module="SEEN = set()", entries="len(SEEN)",
         body='for j in range(100):\n    SEEN.add(f"id-{i}-{j}-" + "x" * (40 + j))',
         healthy='for j in range(100):\n    SEEN.add(f"id-{0}-{j}-" + "x" * (40 + j))', statement="SEEN.add("),
    Case("objects_with_slots", "main: nodes", entry_type="Node", setup="nodes = []", entries="len(nodes)",
         module="class Node:\n    __slots__ = ('name', 'values')\n    def __init__(self, i):\n"
                "        self.name, self.values = f'node {i}', list(range(i, i + 20))",
         body="for j in range(40):\n    nodes.append(Node(i * 1000 + j))",
         healthy="nodes = [Node(i * 1000 + j) for j in range(40)]", statement="nodes.append("),
]

# Healthy in another way: what is filled, and then used.
BOUNDED = [
    Case("vocabulary", "", setup="words = {}", entries="len(words)", body="",
         healthy='for j in range(400):\n    words.setdefault(f"word number {(i * 400 + j) * 7919 % 30000}", len(words))'),
    Case("built_once", "", setup="rows = [{'id': k, 'text': f'row {k}'} for k in range(40000)]", entries="len(rows)",
         body="", healthy="rows[i % len(rows)]['seen'] = i"),
    Case("cache_that_fills", "", module="@functools.lru_cache(8000)\ndef table(i):\n    return [float(i + k) for k in range(8)]",
         entries="table.cache_info().currsize", body="", healthy="for j in range(60):\n    table(i * 1000 + j)"),
    Case("cache_by_hand", "", module="CACHE = {}", entries="len(CACHE)", body="",
         healthy="for j in range(60):\n    CACHE.setdefault((i * 60 + j) % 6000, [value + k for k in range(10)])"),
    Case("emptied_each_epoch", "", setup="losses = []", entries="len(losses)", body="",
         healthy="if i % 50 == 0:\n    losses = []\nfor j in range(400):\n    losses.append({'value': value + j})"),
    Case("ring", "", setup="ring = [None] * 5000", entries="len(ring)", body="",
         healthy="for j in range(60):\n    ring[(i * 60 + j) % 5000] = [value + k for k in range(10)]"),
    Case("log_of_numbers", "", setup="losses = []", entries="len(losses)", body="", healthy="losses.append(value)"),
    Case("sliding_window", "", setup="window = {}", entries="len(window)", body="",
         healthy="for j in range(60):\n    window[i * 60 + j] = [value + k for k in range(10)]\n"
                 "    window.pop(i * 60 + j - 3000, None)"),
]
