"""A seeded training loop, on the CPU unless another device is named, that times its own steps; prints one JSON object. Nothing
in it uses dc-memtrace.

With --turns it goes on for as long as it is asked to: it reads a number of steps from standard input, makes them, prints
its JSON object, and reads again. With the word "state" after the number, that has a digest of parameters and optimizer state,
with "memory" what is in use: bytes of glibc's malloc, without what it keeps free, and blocks of Python's allocator.

gpt2: the small GPT-2 of tests/programs/gpt2_trainer.py in a bare loop. gpt2_wide: one whose time goes into its
kernels, as in a job that keeps its device busy. mlp: layers so small that the step is all
dispatch, the most unfavourable case for anything that observes every operator and allocation.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import hashlib
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded

import torch  # noqa: E402


def gpt2_step(layers: int = 2, width: int = 128, positions: int = 64):
    import transformers

    config = transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=4, vocab_size=1000, n_positions=positions, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(config.vocab_size, (4, config.n_positions))
    return optimizer, lambda: model(input_ids=tokens, labels=tokens).loss


def mlp_step():
    layers = []
    for _ in range(8):
        layers += [torch.nn.Linear(64, 64), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs, labels = torch.randn(32, 64), torch.randint(10, (32,))
    return optimizer, lambda: torch.nn.functional.cross_entropy(model(inputs), labels)


class Mallinfo(ctypes.Structure):
    """struct mallinfo2 of malloc.h."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]  # fmt: skip


def in_use() -> dict[str, int]:
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    figures = mallinfo()
    return {"malloc_bytes": figures.uordblks + figures.hblkhd, "python_blocks": sys.getallocatedblocks()}


MODELS = {"gpt2": gpt2_step, "gpt2_wide": lambda: gpt2_step(4, 384, 64), "mlp": mlp_step}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--warm-up", type=int, default=0, help="steps before, not timed")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--profiler", action="store_true", help="under torch.profiler(profile_memory=True)")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    torch.set_default_device(arguments.device)
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    optimizer, loss_of = MODELS[arguments.model]()
    profiler = contextlib.nullcontext()
    if arguments.profiler:
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)

    def train(steps: int) -> tuple[list[float], str]:
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            loss = loss_of()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            seconds.append(time.perf_counter() - start)
        return seconds, loss.item().hex()

    def digest() -> str:
        sha = hashlib.sha256()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                state = [each for each in optimizer.state[parameter].values() if isinstance(each, torch.Tensor)]
                for each in (parameter.detach(), *state):
                    sha.update(each.cpu().numpy().tobytes())
        return sha.hexdigest()

    if arguments.turns:
        for line in sys.stdin:
            steps, *how = line.split()
            seconds, loss = train(int(steps))
            more = {"state": digest()} if how == ["state"] else in_use() if how == ["memory"] else {}
            print(json.dumps({"seconds": seconds, "loss": loss, **more}), flush=True)
        return
    with profiler:
        seconds, loss = train(arguments.warm_up + arguments.steps)
        cpu_before_stop = time.process_time()
    # What the profiler does when it stops, outside of the steps.
    stop_cpu_s = time.process_time() - cpu_before_stop
    print(json.dumps({"seconds": seconds[arguments.warm_up :], "stop_cpu_s": stop_cpu_s, "loss": loss}))


if __name__ == "__main__":
    main()
