"""Releases in unusual situations: shared buffers, shards, other threads, nested marks, errors. Innocent code is not blamed."""

from __future__ import annotations

import pytest
import recorded
from small_releases import reads, run  # noqa: F401

def test_keys_that_alternate_on_one_buffer(run):
    trace, _ = run("""
pool = torch.empty(100_000)
for key in (1, 2, 1, 2):
    weight = pool.view(100, 1000)
    dm.gather(key, weight)
    weight.mul_(2)
    del weight
    with dm.release(key):
        pass
    torch.ones(2)
""")
    assert reads(trace) == []


def test_a_small_buffer_that_its_key_gave_up_ends_where_it_ends(run):
    """A key gathers into another buffer while the first one is still held. The end of the first one is observed nevertheless."""
    trace, _ = run("""
first = torch.full((250,), 1.0)   # 1,000 bytes: followed only because a key has it
dm.gather(1, first)
second = torch.full((251,), 1.0)
dm.gather(1, second)
del first
for _ in range(3):                # one of these has the first one's address again
    large = torch.ones(30_000)
    del large
torch.ones(2)
""")
    rows = recorded.query(
        trace, "SELECT bytes, to_seq IS NOT NULL FROM storage WHERE bytes IN (1000, 1004, 120000) ORDER BY from_seq"
    )
    assert rows.count((1000, 1)) == 1
    assert rows.count((120_000, 1)) == 3


def test_many_keys_on_one_flat_buffer_that_is_freed(run):
    trace, seen = run("""
flat = torch.empty(800_000)
parts = list(flat.chunk(8))
for key, part in enumerate(parts):
    dm.gather(key, part)
for key in range(8):
    with dm.release(key):
        pass
del flat, parts, part
torch.ones(2)
""")
    assert seen["findings"] == []
    settled = recorded.query(trace, "SELECT bytes_settled FROM release")
    assert settled == [(0,)] * 8
    assert recorded.query(trace, "SELECT count(*) FROM storage WHERE to_seq IS NULL AND bytes >= 65536") == [(0,)]


def test_a_parameter_re_pointed_to_its_shard_is_a_good_parameter(run):
    trace, seen = run("""
parameter = torch.nn.Parameter(torch.empty(50_000))
shard = parameter.data
for number in range(2):
    full = torch.empty(100_000)
    parameter.data = full
    dm.gather(1, parameter)
    (parameter.detach() * 2).sum()
    with dm.release(1):
        parameter.data = shard
        del full
    torch.ones(2)
    with torch.no_grad():
        parameter.add_(1.0)
    dm.step(number)
""")
    assert reads(trace) == [] and seen["findings"] == []


def test_shape_alone_is_not_read_but_data_is(run):
    trace, _ = run("""
weight = torch.ones(100_000)
dm.gather(1, weight)
with dm.release(1):
    pass
torch.zeros_like(weight); torch.empty_like(weight); weight.new_empty(3); torch.ones(1).expand_as(weight)
weight.view(10, -1); weight.detach()
weight.mul(2)
""")
    assert reads(trace) == ["aten::mul"]


def test_references_of_torch_itself_are_nobodys(run):
    """The operator that settles a release has boxed inputs. The caller's argument is the only reference without a name."""
    trace, _ = run("""
def f():
    first, second = torch.empty(100_000), torch.empty(100_000)
    dm.gather(1, first); dm.gather(2, second)
    with dm.release(1):
        pass
    torch.ones(2)
    with dm.release(2):
        pass
    second.mul(2)
f()
torch.ones(2)
""")
    assert reads(trace) == ["aten::mul"]
    unexplained = recorded.query(trace, "SELECT subject, unexplained FROM sample ORDER BY census, id")
    assert unexplained[:3] == [("storage", 0), ("tensor", 0), ("object", 0)]
    assert unexplained[3:] == [("storage", 0), ("tensor", 0), ("object", 1)]


def test_an_explicit_mark_inside_a_wrapped_operator_wins(run):
    trace, _ = run("""
def release(t, graph, id, n):
    with dm.release(id, users=n, graph=graph):
        pass
    return t
lib.impl("release", release, "CPU")
activation, weight = torch.ones(3), torch.empty(100_000)
dm.gather(1, weight)
torch.ops.cases.release(activation, 0, 1, 2)
weight.mul_(2)
torch.ops.cases.release(activation, 0, 1, 2)
del weight
torch.ones(2)
""")
    remaining = recorded.query(trace, "SELECT remaining FROM release WHERE remaining IS NOT NULL ORDER BY from_seq")
    assert remaining == [(1,), (0,)]
    assert reads(trace) == []


def test_a_release_that_throws_uses_nothing_up(run):
    trace, _ = run("""
fail = [False]
def release(t, graph, id, n):
    if fail.pop():
        raise RuntimeError("no")
    return t
lib.impl("release", release, "CPU")
activation, weight = torch.ones(3), torch.empty(100_000)
dm.gather(1, weight)
for outcome in (False, True, False):
    fail.append(outcome)
    try:
        torch.ops.cases.release(activation, 0, 1, 2)
    except RuntimeError:
        pass
torch.ones(2)
""")
    rows = recorded.query(trace, "SELECT remaining, flags FROM release ORDER BY from_seq")
    assert [remaining for remaining, _ in rows] == [1, 1, 0]
    assert ["final" in (flags or "") for _, flags in rows] == [False, False, True]


def test_a_composite_operator_keeps_its_autograd(run):
    run("""
lib.impl("gather", lambda shard, graph, id: shard * 2.0, "CompositeImplicitAutograd")
weight = torch.ones(1000, requires_grad=True)
gathered = torch.ops.cases.gather(weight, 0, 1)
print(gathered.grad_fn.name())
gathered.sum().backward()
print(weight.grad.sum().item())
""", "MulBackward0\n2000.0\n")


def test_scopes_that_end_on_another_thread_do_not_hide_steps(run):
    trace, _ = run("""
model = torch.nn.Linear(200, 200)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(10):
    for _ in range(10):
        scope = torch.profiler.record_function("elsewhere")
        scope.__enter__()
        thread = threading.Thread(target=scope.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
    model(torch.randn(512, 200)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'step'") == [(10,)]


def test_a_storage_that_shrinks_and_dies_has_an_end(run):
    trace, _ = run("""
weight = torch.empty(100_000)
weight.untyped_storage().resize_(4096)
del weight
torch.ones(2)
""")
    assert recorded.query(trace, "SELECT count(*) FROM storage WHERE bytes = 400000 AND to_seq IS NULL") == [(0,)]
    assert recorded.query(trace, "SELECT count(*) FROM tensor WHERE to_seq IS NULL AND storage IN"
                                 " (SELECT id FROM storage WHERE bytes = 400000)") == [(0,)]  # fmt: skip


def test_more_releases_in_a_row_than_are_checked_again_are_said_to_be(run):
    trace, seen = run("""
weights = [torch.empty(20_000) for _ in range(1030)]
for key, weight in enumerate(weights):
    dm.gather(key, weight)
for key in range(1030):
    dm.release(key)
torch.ones(2)
""")
    releases = recorded.query(trace, "SELECT settled_seq IS NULL, count(*) FROM mark WHERE kind = 'release' GROUP BY 1")
    assert releases == [(0, 1024), (1, 6)]
    # The program ends afterwards: frees at that time are too late, if they were observed.
    totals = seen["releases"]
    assert [totals[name] for name in ("late", "unknown", "freed")] == [1024, 6, 0]
    notes = recorded.query(
        trace, "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text WHERE code = 'note' AND s.text LIKE '%in a row%'"
    )
    assert len(notes) == 1


def test_tensors_without_a_storage_are_not_a_keys(run):
    trace, _ = run("""
lib.impl("gather", lambda shard, graph, id: shard.repeat(2), "CPU")
lib.impl("release", lambda t, graph, id, n: t.view_as(t), "CPU")
full = torch.ops.cases.gather(torch.randn(32 * 1024), 0, 1)
wrapped = [torch._to_functional_tensor(torch.randn(8)) for _ in range(4)]
for _ in range(50):
    views = [each.view(2, 4) for each in wrapped]  # born before they get a storage
    del views
""")
    assert recorded.query(trace, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'") == [(0,)]
    assert recorded.query(trace, "SELECT count(*) FROM tensor WHERE storage IS NULL") == [(0,)]


def test_a_view_keeps_its_base(run):
    trace, _ = run("""
def gathered():
    return torch.ones(100_001)[:100_000]  # a padded buffer, of which only the view is handed out
def step():
    weight = gathered().view(100, 1000)
    dm.gather(1, weight)
    with dm.release(1):
        pass
    torch.ones(2)
step()
""")
    assert recorded.query(trace, "SELECT sum(unexplained) FROM sample") == [(0,)]
    held = recorded.query(
        trace,
        "SELECT holder, name FROM holder WHERE held IN ('tensor', 'object') AND holder != 'python_object' ORDER BY holder",
    )
    assert held == [("local", "weight"), ("view", None)]


@pytest.mark.parametrize("gone", ["del w", "w.untyped_storage().resize_(0)"])
def test_what_is_gone_before_a_small_last_operator_was_given_back_in_time(run, gone):
    _, seen = run(f"w = torch.ones(1 << 20); dm.gather(1, w); x = torch.ones(1 << 20); {gone}; torch.ones(2)")
    assert seen["findings"] == []


def test_what_goes_with_the_program_was_never_released(run):
    _, seen = run("w = torch.ones(1 << 20); dm.gather(1, w); x = torch.ones(1 << 20); torch.ones(2)")
    assert [finding["rule"] for finding in seen["findings"]] == ["never_released"]
