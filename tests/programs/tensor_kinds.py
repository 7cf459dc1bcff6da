"""Makes tensors of every kind and in every way, one case after another, and writes down what lives.

Usage: tensor_kinds.py LIVE_OBJECTS_LIBRARY LATE_EXTENSION FOLDER CASE... (or "all").
For each case there are the marks CASE:begin, CASE:held (it made things and holds some) and CASE:end (they are let go),
at each a list FOLDER/CASE:POINT from live_objects.h, and a printed JSON line: what Python itself says of the tensors
held, and what torch's profiler counted from begin to end.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import io
import json
import pathlib
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_map
from training_report import dc_memtrace, memory_counts

CASES: dict[str, Callable[[], list]] = {}


def case(function: Callable[[], list]) -> Callable[[], list]:
    CASES[function.__name__] = function
    return function


@case
def views():
    x = torch.randn(12, 10)
    return [x, x.view(120), x[3:], x.t(), x.unsqueeze(0).expand(5, 12, 10), *x.chunk(4), *x.unbind(), x.diagonal()]


@case
def views_of_complex():
    z = torch.randn(50, dtype=torch.complex64)
    return [z, z.conj(), torch.view_as_real(z), z.imag, z.conj().resolve_conj(), z.view(torch.int32)]


@case
def detached():
    x = torch.randn(100, requires_grad=True)
    y = (x * 2).detach_()
    return [x, x.detach(), x.data, y, y.detach().requires_grad_().detach()]


@case
def set_data():
    x, kept = torch.randn(100), torch.randn(50)
    view = x.view(10, 10)
    x.data = torch.randn(70)
    p = torch.nn.Parameter(torch.randn(30))
    p.data = kept
    p.data = kept[10:]
    q = torch.nn.Parameter(torch.randn(31))
    q.data = torch.empty(0)
    return [x, kept, view, p, q]


@case
def set_():
    source, other = torch.randn(100), torch.randn(20)
    x, y, z, w, meta = torch.randn(10), torch.randn(11), torch.randn(12), torch.randn(13), torch.randn(14, device="meta")
    x.set_(source)
    y.set_(source.untyped_storage(), 5, (3, 3), (3, 1))
    z.set_(other.untyped_storage())
    w.set_()
    meta.set_(torch.randn(15, device="meta"))
    view = z.view(2, 10) if z.numel() == 20 else z[:4]
    try:
        x.set_(other.untyped_storage(), 0, (1000000,), (-1,))
    except RuntimeError:
        pass
    return [source, x, y, z, w, view, meta]


@case
def resized():
    x, y, z = torch.randn(100), torch.randn(100), torch.randn(100)
    x.resize_(500)
    y.untyped_storage().resize_(0)
    z.untyped_storage().resize_(0)
    z.untyped_storage().resize_(4000)
    w = torch.empty(0).resize_as_(x)
    v = torch.arange(6).resize_(2)
    torch.add(torch.ones(64), 1, out=(grown := torch.empty(0)))
    return [x, y, z, w, v, grown]


@case
def shared_between_processes():
    held = []
    for strategy in ("file_descriptor", "file_system"):
        torch.multiprocessing.set_sharing_strategy(strategy)
        x = torch.randn(300)
        held += [x, x[10:], x.share_memory_(), torch.randn(40).share_memory_()]
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    return held


@case
def storages_without_tensors():
    alone = torch.UntypedStorage(1000)
    cloned = alone.clone()
    late = torch.UntypedStorage(200)
    tensor = torch.empty(0, dtype=torch.uint8).set_(late)
    torch.UntypedStorage(77)  # nobody wants it
    return [alone, cloned, late, tensor, torch.UntypedStorage(64, device="meta")]


@case
def others_memory():
    array = torch.arange(60, dtype=torch.float32).numpy()
    buffer = bytearray(256)
    return [torch.from_numpy(array), torch.from_numpy(array[5:]), torch.frombuffer(buffer, dtype=torch.uint8), array]


@case
def copied_on_write():
    x = torch.randn(500)
    lazy, written = torch._lazy_clone(x), torch._lazy_clone(x)
    written.add_(1)
    return [x, lazy, written]


@case
def functional():
    x = torch.randn(64)
    f = torch._to_functional_tensor(x)
    torch._enable_functionalization(reapply_views=True)
    try:
        g = f.view(8, 8)
        g.add_(1)
        h = f.detach()
        torch._sync(f)
        back = torch._from_functional_tensor(f)
    finally:
        torch._disable_functionalization()
    return [x, back, f, g, h]


@case
def sparse():
    dense = torch.eye(20)
    coo, csr = dense.to_sparse(), dense.to_sparse_csr()
    return [dense, coo, csr, coo + coo, coo.coalesce(), csr.detach(), coo.detach(), coo.to_sparse_csc(), coo.clone()]


@case
def nested():
    parts = [torch.randn(3, 4), torch.randn(5, 4)]
    strided = torch.nested.nested_tensor(parts)
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    return [*parts, strided, jagged, strided.clone(), strided.detach(), jagged * 2, *strided.unbind()]


@case
def quantized():
    x = torch.randn(40)
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    c = torch.quantize_per_channel(x.view(4, 10), torch.ones(4), torch.zeros(4), 0, torch.quint8)
    r = torch.quantize_per_tensor(torch.randn(7), 0.1, 0, torch.qint8)
    r.data = q
    return [x, q, c, r, q.detach(), q.view(4, 10), q.dequantize(), q.clone(), q.int_repr()]


@case
def without_memory():
    meta = torch.empty(1000, 1000, device="meta")
    with FakeTensorMode() as mode:
        fake = torch.randn(2000, 1000)
        fake_sum = fake @ fake.t()
        converted = mode.from_tensor(torch.zeros(1))
    return [meta, meta.t(), meta @ meta, fake, fake_sum, fake.view(-1), converted, torch.empty(0), torch.tensor(1.0)]


class Wrapper(torch.Tensor):
    """A subclass that has no memory of its own and computes on what it wraps."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=False)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def inner(value):
            return value.inner if isinstance(value, cls) else value

        def wrap(value):
            return cls(value) if isinstance(value, torch.Tensor) else value

        out = tree_map(wrap, function(*tree_map(inner, args), **tree_map(inner, kwargs or {})))
        return return_and_correct_aliasing(function, args, kwargs or {}, out)


class Plain(torch.Tensor):
    pass


@case
def subclasses():
    inner = torch.randn(30)
    wrapped = Wrapper(inner)
    plain = torch.randn(20).as_subclass(Plain)
    return [inner, wrapped, wrapped.detach(), wrapped + 1, wrapped.view(5, 6), plain, plain * 2, torch.nn.Parameter(plain)]


@case
def deep_copies():
    module = torch.nn.Sequential(torch.nn.Linear(8, 9), torch.nn.BatchNorm1d(9))
    module[0].weight.grad = torch.ones(9, 8)
    x = torch.randn(10)
    x_copy, view_copy = copy.deepcopy([x, x[2:]])
    twin = copy.deepcopy(module)
    return [*module.state_dict().values(), *twin.state_dict().values(), twin[0].weight.grad, x, x_copy, view_copy]


@case
def saved_and_loaded():
    x = torch.randn(100)
    pair = pickle.loads(pickle.dumps([x, x[50:]]))
    buffer = io.BytesIO()
    torch.save({"x": x, "view": x[10:], "sparse": torch.eye(3).to_sparse()}, buffer)
    loaded = torch.load(io.BytesIO(buffer.getvalue()))
    with tempfile.NamedTemporaryFile() as file:
        torch.save([x, torch.nn.Parameter(x)], file.name)
        mapped = torch.load(file.name, mmap=True)
        old_way = io.BytesIO()
        torch.save(x, old_way, _use_new_zipfile_serialization=False)
    return [x, *pair, *loaded.values(), *mapped, torch.load(io.BytesIO(old_way.getvalue()))]


@case
def gradients_in_threads():
    held = []

    def train(seed):
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            model(torch.randn(20, 16)).square().mean().backward()
            optimizer.step()
        held.extend(parameter.grad for parameter in model.parameters())

    threads = [threading.Thread(target=train, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return held


@case
def graphs():
    x = torch.randn(10, requires_grad=True)
    y = (x * x).exp().sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    checkpointed = torch.utils.checkpoint.checkpoint(lambda v: (v * 2).sin(), x, use_reentrant=False)
    return [x, y, first, checkpointed]


@case
def inference():
    with torch.inference_mode():
        x = torch.randn(40)
        held = [x, x.view(5, 8), x[3:], x + 1, x.detach()]
    return [*held, held[0].clone()]


@case
def transformed():
    x = torch.randn(6, 5)
    mapped = torch.vmap(lambda row: row.sin().sum() * row)(x)
    gradient = torch.func.grad(lambda v: v.pow(2).sum())(x)
    jacobian = torch.func.jacrev(torch.sin)(x[0])
    tangent = torch.func.jvp(torch.exp, (x,), (x,))
    return [x, mapped, gradient, jacobian, *tangent]


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((25,), float(index))


@case
def loaded_by_workers():
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2, multiprocessing_context="fork")
    return list(loader)


@case
def exchanged():
    x, y = torch.randn(10), torch.randn(20)
    torch.utils.swap_tensors(x, y)
    module = torch.nn.Linear(5, 6)
    module.to(torch.float64)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    module.half()
    torch.__future__.set_overwrite_module_params_on_conversion(False)
    return [x, y, *module.parameters()]


@case
def failed():
    held = []
    for attempt in (
        lambda: torch.empty(1 << 60),
        lambda: torch.randn(5).view(7),
        lambda: torch.randn(3) @ torch.randn(4),
        lambda: torch.randn(5).resize_(-1),
        lambda: torch.cat([torch.randn(2, 3), torch.randn(4)]),
    ):
        try:
            attempt()
        except RuntimeError as error:
            held.append(str(error))
    return held


@case
def loaded_late():
    torch.ops.load_library(LATE_EXTENSION)
    late = ctypes.CDLL(LATE_EXTENSION)
    late.late_tensor_class.restype = ctypes.c_void_p
    LIVE_OBJECTS.live_objects_tensor_class(ctypes.c_void_p(late.late_tensor_class()))
    held = torch.ops.late.make(100)
    torch.ops.late.make(50)
    return held


@case
def compiled():
    weight = torch.randn(16, 16, requires_grad=True)
    step = torch.compile(lambda x: (x @ weight).relu().sum())
    losses = [step(torch.randn(8, 16)) for _ in range(2)]
    losses[-1].backward()
    return [weight, weight.grad, *losses]


def facts(held: list) -> list[dict]:
    """What Python says of each tensor or storage that has memory of its own."""
    rows = []
    for value in held:
        if isinstance(value, torch.UntypedStorage):
            size = 0 if value.device.type == "meta" else value.nbytes()
            rows.append({"tensor": None, "storage": value._cdata, "bytes": size})
        elif type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided:
            if value.is_nested or torch._is_functional_tensor(value):
                continue
            storage = value.untyped_storage()
            size = 0 if value.device.type == "meta" else storage.nbytes()
            rows.append({"tensor": value._cdata, "storage": storage._cdata, "bytes": size})
    return rows


def table(library: ctypes.CDLL, symbol: str) -> ctypes.c_void_p:
    """What objects of the class have as their first word."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, symbol)) + 16)


def set_classes() -> None:
    folder = pathlib.Path(torch.__file__).parent / "lib"
    c10, cpu = (ctypes.CDLL(folder / name) for name in ("libc10.so", "libtorch_cpu.so"))
    LIVE_OBJECTS.live_objects_storage_class(table(c10, "_ZTVN3c1011StorageImplE"))
    LIVE_OBJECTS.live_objects_storage_class(table(cpu, "_ZTVN2at17functionalization21FunctionalStorageImplE"))
    LIVE_OBJECTS.live_objects_tensor_class(table(c10, "_ZTVN3c1010TensorImplE"))
    for name in (
        "N2at11QTensorImplE",
        "N2at16SparseTensorImplE",
        "N2at19SparseCsrTensorImplE",
        "N2at23FunctionalTensorWrapperE",
        "N2at6native16NestedTensorImplE",
        "N2at9functorch13TensorWrapperE",
        "N2at9functorch17BatchedTensorImplE",
    ):
        LIVE_OBJECTS.live_objects_tensor_class(table(cpu, f"_ZTV{name}"))


def mark_point(name: str, point: str) -> None:
    gc.collect()
    dc_memtrace.mark(f"{name}:{point}")


def write_point(folder: pathlib.Path, name: str, point: str) -> None:
    mark_point(name, point)
    if LIVE_OBJECTS.live_objects_write(str(folder / f"{name}:{point}").encode()) < 0:
        raise OSError("the list could not be written")


def run(folder: pathlib.Path, name: str, is_first: bool) -> None:
    report = {"case": name}
    if is_first:
        write_point(folder, name, "begin")
    else:  # what lives is what lived at the end of the case before
        mark_point(name, "begin")
    with memory_counts(True) as counts:
        held = CASES[name]()
        report["facts"] = facts(held)
        write_point(folder, name, "held")
        ended = [value._cdata for value in held if isinstance(value, torch.Tensor)]
        held.clear()
        gc.collect()
    write_point(folder, name, "end")
    print(json.dumps(report | {"memory": counts, "ended": ended}), flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    LIVE_OBJECTS = ctypes.CDLL(sys.argv[1])
    LATE_EXTENSION = sys.argv[2]
    set_classes()
    asked = list(CASES) if sys.argv[4:] == ["all"] else sys.argv[4:]
    for asked_case in asked:
        run(pathlib.Path(sys.argv[3]), asked_case, asked_case == asked[0])
