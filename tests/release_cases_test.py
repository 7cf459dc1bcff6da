"""Releases in unusual situations: shared buffers, shards, other threads, nested marks, errors. Innocent code is not blamed."""

from __future__ import annotations

import recorded
from small_releases import recorded_together, run, seen, together  # noqa: F401


@together("""
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
def test_keys_that_alternate_on_one_buffer(seen):  # noqa: F811
    assert seen.reads() == []


@together("""
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
def test_a_small_buffer_that_its_key_gave_up_ends_where_it_ends(seen):  # noqa: F811
    """A key gathers into another buffer while the first one is still held. The end of the first one is observed nevertheless."""
    rows = recorded.query(
        seen.trace, "SELECT bytes, to_seq IS NOT NULL FROM storage WHERE bytes IN (1000, 1004, 120000) ORDER BY from_seq"
    )
    assert rows.count((1000, 1)) == 1
    assert rows.count((120_000, 1)) == 3


@together("""
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
def test_many_keys_on_one_flat_buffer_that_is_freed(seen):  # noqa: F811
    assert seen.findings == []
    assert seen.marks("bytes_settled", "release") == [(0,)] * 8
    ends = "SELECT count(*), count(to_seq) FROM storage WHERE bytes = 3200000"
    assert recorded.query(seen.trace, ends) == [(1, 1)]


@together("""
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
def test_a_parameter_re_pointed_to_its_shard_is_a_good_parameter(seen):  # noqa: F811
    assert seen.reads() == [] and seen.findings == []


@together("""
weight = torch.ones(100_000)
dm.gather(1, weight)
with dm.release(1):
    pass
torch.zeros_like(weight); torch.empty_like(weight); weight.new_empty(3); torch.ones(1).expand_as(weight)
weight.view(10, -1); weight.detach()
weight.mul(2)
""")
def test_shape_alone_is_not_read_but_data_is(seen):  # noqa: F811
    assert seen.reads() == ["aten::mul"]


@together("""
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
def test_references_of_torch_itself_are_nobodys(seen):  # noqa: F811
    """The operator that settles a release has boxed inputs. The caller's argument is the only reference without a name."""
    assert seen.reads() == ["aten::mul"]
    unexplained = seen.of_censuses("subject, unexplained", "sample", "census, id")
    assert unexplained[:3] == [("storage", 0), ("tensor", 0), ("object", 0)]
    assert unexplained[3:] == [("storage", 0), ("tensor", 0), ("object", 1)]


@together("""
def release(t, id, n):
    with dm.release(id, users=n):
        pass
    return t
releases[dm.graph] = release
activation, weight = torch.ones(3), torch.empty(100_000)
dm.gather(1, weight)
torch.ops.cases.release(activation, dm.graph, 1, 2)
weight.mul_(2)
torch.ops.cases.release(activation, dm.graph, 1, 2)
del weight
torch.ones(2)
""")
def test_an_explicit_mark_inside_a_wrapped_operator_wins(seen):  # noqa: F811
    remaining = [value for (value,) in seen.marks("remaining", "release") if value is not None]
    assert remaining == [1, 0]
    assert seen.reads() == []


@together("""
fail = [False]
def release(t, id, n):
    if fail.pop():
        raise RuntimeError("no")
    return t
releases[dm.graph] = release
activation, weight = torch.ones(3), torch.empty(100_000)
dm.gather(1, weight)
for outcome in (False, True, False):
    fail.append(outcome)
    try:
        torch.ops.cases.release(activation, dm.graph, 1, 2)
    except RuntimeError:
        pass
torch.ones(2)
""")
def test_a_release_that_throws_uses_nothing_up(seen):  # noqa: F811
    rows = seen.marks("remaining, flags", "release")
    assert [remaining for remaining, _ in rows] == [1, 1, 0]
    assert ["final" in (flags or "") for _, flags in rows] == [False, False, True]


def test_a_composite_operator_keeps_its_autograd(run):  # noqa: F811
    run("""
lib.impl("gather", lambda shard, graph, id: shard * 2.0, "CompositeImplicitAutograd")
weight = torch.ones(1000, requires_grad=True)
gathered = torch.ops.cases.gather(weight, 0, 1)
print(gathered.grad_fn.name())
gathered.sum().backward()
print(weight.grad.sum().item())
""", "MulBackward0\n2000.0\n")


def test_scopes_that_end_on_another_thread_do_not_hide_steps(run):  # noqa: F811
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


@together("""
weight = torch.empty(100_003)
weight.untyped_storage().resize_(4096)
del weight
torch.ones(2)
""")
def test_a_storage_that_shrinks_and_dies_has_an_end(seen):  # noqa: F811
    of_storage = "SELECT count(*), count(to_seq) FROM storage WHERE bytes = 400012"
    assert recorded.query(seen.trace, of_storage) == [(1, 1)]
    alive = (
        "SELECT count(*) FROM tensor WHERE to_seq IS NULL AND storage IN (SELECT id FROM storage WHERE bytes = 400012)"
    )
    assert recorded.query(seen.trace, alive) == [(0,)]


def test_more_releases_in_a_row_than_are_checked_again_are_said_to_be(run):  # noqa: F811
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


@together("""
full = torch.ops.cases.gather(torch.randn(32 * 1024), dm.graph, 1)
wrapped = [torch._to_functional_tensor(torch.randn(8)) for _ in range(4)]
for _ in range(50):
    views = [each.view(2, 4) for each in wrapped]  # born before they get a storage
    del views
""")
def test_tensors_without_a_storage_are_not_a_keys(seen):  # noqa: F811
    assert recorded.query(seen.trace, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'") == [(0,)]
    assert recorded.query(seen.trace, "SELECT count(*) FROM tensor WHERE storage IS NULL") == [(0,)]


@together("""
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
def test_a_view_keeps_its_base(seen):  # noqa: F811
    unexplained = seen.of_censuses("unexplained", "sample", "id")
    assert unexplained and not any(count for (count,) in unexplained)
    held = seen.of_censuses("held, holder, name", "holder", "holder")
    found = [(holder, name) for what, holder, name in held if what in ("tensor", "object") and holder != "python_object"]
    assert found == [("local", "weight"), ("view", None)]


def test_what_is_gone_before_a_small_last_operator_was_given_back_in_time(run):  # noqa: F811
    """One is deleted, the other one emptied."""
    _, seen = run("""
first, second = torch.ones(1 << 20), torch.ones(1 << 20)
dm.gather(1, first); dm.gather(2, second)
other = torch.ones(1 << 20)
del first
second.untyped_storage().resize_(0)
torch.ones(2)
""")
    assert seen["findings"] == []


def test_what_goes_with_the_program_was_never_released(run):  # noqa: F811
    _, seen = run("w = torch.ones(1 << 20); dm.gather(1, w); x = torch.ones(1 << 20); torch.ones(2)")
    assert [finding["rule"] for finding in seen["findings"]] == ["never_released"]
