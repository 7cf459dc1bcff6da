"""One way to keep a tensor, by a name that is given: the line marked `keep` takes the reference that is left after the
function has returned. With --dropped it is given back before the end."""

import sys

import torch

KEPT = []
NAMED = None


class Box:
    pass


BOX = Box()


def make():
    return torch.ones(64, requires_grad=True)  # made


def in_list():
    t = make()
    KEPT.append(t)  # keep in_list


def in_attribute():
    t = make()
    BOX.t = t  # keep in_attribute


def in_closure():
    t = make()
    KEPT.append(lambda t=t: t)  # keep in_closure


def in_tuple():
    t = make()
    KEPT.append((t, t.shape))  # keep in_tuple


def in_global():
    global NAMED
    t = make()
    NAMED = t  # keep in_global


def in_graph():
    t = make()
    KEPT.append(t * t)  # keep in_graph


def in_script_list():
    t = make()
    KEPT.append(torch.jit.script([t]))  # keep in_script_list


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    if "--dropped" in sys.argv:
        KEPT.clear()
        vars(BOX).clear()
        NAMED = None
    torch.zeros(1)
