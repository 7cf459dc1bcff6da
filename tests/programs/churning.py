"""Eight threads make and drop tensors, and change what holds them, as fast as they can; the program compiles and forks
meanwhile, and variables of its module come and go.

Usage: churning.py FILE. The size of a tensor says who holds it: thread K makes tensors of SIZES[K] elements, and only BOXES[K], NAMED[K],
OBJECTS[K] and its variable `made` ever have them; KEPT[K] has one of KEPT_SIZES[K] for good. FILE gets both lists of sizes once the
threads run. The program ends when its input does.
"""

import collections
import json
import os
import sys
import threading

import torch

THREADS = 8
SIZES = [20_000 + 100 * k for k in range(THREADS)]
KEPT_SIZES = [30_000 + 100 * k for k in range(THREADS)]


class Holder:
    def __init__(self):
        self.ring = collections.deque(maxlen=10)


BOXES = [[] for _ in range(THREADS)]
NAMED = [{} for _ in range(THREADS)]
OBJECTS = [Holder() for _ in range(THREADS)]
KEPT = [torch.ones(size) for size in KEPT_SIZES]
STOP = threading.Event()


def churn(k):
    number = 0
    while not STOP.is_set():
        number += 1
        made = torch.empty(SIZES[k])
        if number % 3 == 0:
            BOXES[k].append(made)
        elif number % 3 == 1:
            NAMED[k][number % 50] = made
        else:
            OBJECTS[k].ring.append(made)
        if len(BOXES[k]) > 40:
            del BOXES[k][: number % 40]
        if number % 97 == 0:
            NAMED[k] = {}
        if number % 203 == 0:
            OBJECTS[k] = Holder()


def work(number):
    """What a program does besides: it compiles, forks, and has other variables."""
    for j in range(1000):
        globals()[f"other{j}"] = j
    for j in range(1000):
        del globals()[f"other{j}"]
    torch.compile(lambda x: (x * number).sin() + number, backend="aot_eager")(torch.ones(3, 3))
    torch._dynamo.reset()
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)


def main():
    torch.set_num_threads(1)
    threads = [threading.Thread(target=churn, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    waits = threading.Thread(target=sys.stdin.read)
    waits.start()
    number = 0
    while waits.is_alive():
        work(number)
        if number == 0:
            with open(sys.argv[1] + ".new", "w") as file:
                json.dump([SIZES, KEPT_SIZES], file)
            os.rename(sys.argv[1] + ".new", sys.argv[1])
        number += 1
    STOP.set()
    for thread in threads:
        thread.join()


main()
