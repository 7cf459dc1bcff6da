"""Ways to take and to drop a reference to a tensor. Each kind's lines are marked: `take` where it is taken, `drop` where
it is dropped. All tensors are made by the line marked `made`, one after the other."""

import ctypes
import functools
import threading
import weakref

import torch


def make(grad=False):
    return torch.ones(64, requires_grad=grad)  # made


KEPT = []


class Box:
    pass


def name():
    t = make()
    other = t  # take name
    del other  # drop name


def local():
    def inner(argument):
        kept = argument  # take local
        return len(kept.shape)

    t = make()
    inner(t)  # drop local


def in_list():
    t = make()
    box = []
    box.append(t)  # take in_list
    box.clear()  # drop in_list


def in_tuple():
    t = make()
    box = (t, 1)  # take in_tuple
    del box  # drop in_tuple


def in_dict():
    t = make()
    box = {}
    box["t"] = t  # take in_dict
    del box["t"]  # drop in_dict


def in_set():
    t = make()
    box = set()
    box.add(t)  # take in_set
    box.discard(t)  # drop in_set


def attribute():
    t = make()
    box = Box()
    box.t = t  # take attribute
    del box.t  # drop attribute


def closure():
    t = make()

    def call(t=t):  # take closure
        return t

    del call  # drop closure


def partial():
    t = make()
    call = functools.partial(print, t)  # take partial
    del call  # drop partial


def generator():
    def values(t):
        yield t.shape
        yield t.dtype

    t = make()
    walk = values(t)  # take generator
    next(walk)
    del walk  # drop generator


def view():
    t = make()
    part = t[1:]  # take view
    del part  # drop view


def detached():
    t = make()
    other = t.detach()  # take detached
    del other  # drop detached


def alias():
    t = make()
    other = torch.ops.aten.alias(t)  # take alias
    del other  # drop alias


def storage():
    t = make()
    bytes_of = t.untyped_storage()
    other = torch.empty(0)
    other.set_(bytes_of)  # take storage
    del other  # drop storage


def numpy():
    t = make()
    array = t.numpy()  # take numpy
    del array  # drop numpy


def dlpack():
    t = make()
    capsule = torch.utils.dlpack.to_dlpack(t)  # take dlpack
    del capsule  # drop dlpack


def saved():
    t = make(grad=True)
    product = t * t  # take saved
    del product  # drop saved


def saved_in_vector():
    t = make(grad=True)
    both = torch.cat([t, t]).prod()  # take saved_in_vector
    del both  # drop saved_in_vector


class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad


def saved_by_function():
    t = make(grad=True)
    total = Keep.apply(t)  # take saved_by_function
    del total  # drop saved_by_function


def hook():
    t = make()
    other = torch.zeros(1, requires_grad=True)
    handle = other.register_hook(lambda grad, t=t: None)  # take hook
    handle.remove()  # drop hook


def script_list():
    t = make()
    values = torch.jit.script([t])  # take script_list
    del values  # drop script_list


def script_dict():
    t = make()
    values = torch.jit.script({"t": t})  # take script_dict
    del values  # drop script_dict


def thread():
    t = make()
    box = [t]
    other = []

    def work():
        other.append(box[0])  # take thread
        other.pop()  # drop thread

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


def traceback():
    t = make()

    def fail(t):
        raise ValueError(str(t.shape))

    try:
        fail(t)  # take traceback
    except ValueError as error:
        kept = error
    del kept  # drop traceback


def weak():
    t = make()
    other = weakref.ref(t)
    del other


def kept_in_list():
    t = make()
    KEPT.append(t)  # take kept_in_list
    del t
    KEPT[:] = [1]  # drop kept_in_list


def leaked():
    t = make()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(t))  # take leaked


KINDS = [name, local, in_list, in_tuple, in_dict, in_set, attribute, closure, partial, generator, view, detached, alias,
         storage, numpy, dlpack, saved, saved_in_vector, saved_by_function, hook, script_list, script_dict, thread,
         traceback, weak, kept_in_list, leaked]

if __name__ == "__main__":
    for kind in KINDS:
        kind()
    print(" ".join(kind.__name__ for kind in KINDS))
