"""A GPT of 51 M parameters trains, and says of holders that somebody names whether they are true.

Usage: training_gpt.py FILE. FILE appears once it trains. At SIGUSR1 the training stands still where Python can handle
the signal: it writes the time, reads one line with names of holders, [[address of the data, path], …], and answers with
a verdict for each. It finds holders by gc, by the frames of its threads and by the attributes of its autograd nodes,
with no help of the tool. The program ends when its input does.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import re
import signal
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, BLOCKS, WORDS, LENGTH = 512, 8, 8, 50257, 128
FOLDED = re.compile(r" … (\d+) nodes? → (\w+)")
TO_NODE = re.compile(r"\.(grad_fn|next_functions\[\d+\]) (\w+)")
FIELD = re.compile(r"\.(_saved_\w+?)((?:\._base)*)(?=[.\s]|$)")
BASE_NODE = re.compile(r"((?:\._base)*) (\w+Backward\w*)")
FRAME = re.compile(r"^([\w.<>]+) \(([\w.]+):\d+\): (.*)$")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


MODEL = GPT()
OPTIMIZER = torch.optim.AdamW(MODEL.parameters(), 1e-4)
RECENT = []  # the last four losses, as numbers and as tensors


def step():
    ids = torch.randint(0, WORDS, (2, 65))
    out = MODEL(ids[:, :-1])
    loss = F.cross_entropy(out.flatten(0, 1), ids[:, 1:].flatten())
    OPTIMIZER.zero_grad()
    loss.backward()
    OPTIMIZER.step()
    RECENT.append((loss.item(), out.detach()))
    del RECENT[:-4]


def data_of(value):
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else None


def nodes_from(start, name):
    """The nodes named so that `start` leads to."""
    met, queue, found = {start}, [start], []
    while queue:
        node = queue.pop()
        if node.name() == name:
            found.append(node)
        for following, _ in node.next_functions:
            if following is not None and following not in met:
                met.add(following)
                queue.append(following)
    return found


def saved_by(node, field):
    try:
        value = getattr(node, field)
    except (AttributeError, RuntimeError):  # no such field, or backward has freed it
        return []
    return list(value) if isinstance(value, tuple | list) else [value]


def values_of(path, names):
    """All that the path can mean: an expression, then steps through the autograd graph. None: it cannot be read."""
    start = re.search(r"\.grad_fn \w| \w+Backward\w* ?", path)
    expression, rest = (path[: start.start()], path[start.start() :]) if start else (path, "")
    if key := re.search(r"\.key\(<Parameter>\)(\.\w+)?$", expression):
        held = eval(expression[: key.start()], names)
        values = [getattr(each, key[1][1:]) if key[1] else each for each in held]
    elif "[<Parameter>]" in expression:
        head, tail = expression.split("[<Parameter>]")
        values = [eval("each" + tail, {"each": each}) for each in eval(head, names).values()]
    else:
        values = [eval(expression, names)]
    while rest:
        if match := TO_NODE.match(rest):
            attribute, name = match[1], match[2]
            values = [eval("each." + attribute, {"each": each}) for each in values if each is not None]
            values = [each[0] if isinstance(each, tuple) else each for each in values]
            values = [each for each in values if each is not None and each.name() == name]
        elif match := FOLDED.match(rest):
            values = [node for each in values for node in nodes_from(each, match[2])]
        elif match := FIELD.match(rest):
            values = [tensor for node in values for tensor in saved_by(node, match[1])]
            values = [eval("each" + match[2], {"each": each}) for each in values if each is not None]
        elif match := BASE_NODE.match(rest):  # the base of a view: its node
            values = [eval("each" + match[1], {"each": each}) for each in values if each is not None]
            values = [each.grad_fn for each in values]
            values = [each for each in values if each is not None and each.name() == match[2]]
        else:
            return None
        rest = rest[match.end() :]
    return values


def frames_named(function, file):
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            if code.co_qualname == function and os.path.basename(code.co_filename) == file:
                yield frame
            frame = frame.f_back


def verdict(data, path):
    """true, false, or unread: no path that this program can follow."""
    try:
        if match := FRAME.match(path):
            frames = list(frames_named(match[1], match[2]))
            found = [values_of(match[3], {**vars(builtins), **frame.f_locals}) for frame in frames]
        elif path.startswith("main."):
            found = [values_of(path.removeprefix("main."), globals())]
        else:
            return "unread"
    except SyntaxError:
        return "unread"
    except (AttributeError, IndexError, KeyError, NameError, TypeError):
        return "false"
    if None in found:
        return "unread"
    return "true" if any(data_of(value) == data for values in found for value in values) else "false"


def living():
    """The data of all tensors that Python or an autograd node of one of them has."""
    tensors = [each for each in gc.get_objects() if isinstance(each, torch.Tensor)]
    data = {data_of(tensor) for tensor in tensors}
    met = set()
    queue = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    while queue:
        node = queue.pop()
        if node in met:
            continue
        met.add(node)
        for name in dir(node):
            if name.startswith("_saved_"):
                data |= {data_of(value) for value in saved_by(node, name)}
        queue += [following for following, _ in node.next_functions if following is not None]
    return data


def stand_still(*_):
    print(time.monotonic(), flush=True)
    claims = json.loads(sys.stdin.readline())
    # In a child: a frame that is asked for its variables keeps a dictionary of them.
    if (child := os.fork()) == 0:
        alive = living()
        verdicts = ["gone" if data not in alive else verdict(data, path) for data, path in claims]
        print(json.dumps({"verdicts": verdicts, "alive": [each for each in alive if each]}), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


def train():
    signal.signal(signal.SIGUSR1, stand_still)
    step()
    with open(sys.argv[1], "w"):
        pass
    while os.getppid() != 1:
        step()


train()
