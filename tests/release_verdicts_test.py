"""What a report says of releases: judged when the thread goes on, and only from what was observed."""

from __future__ import annotations

from small_releases import recorded_together, run, seen, together  # noqa: F401

GENERATED = """
empty_strided_cpu = torch._C._dynamo.guards._empty_strided_cpu
def call():
    w = torch.empty(1 << 22)
    dm.gather(1, w)
    with dm.release(1):
        {inside}
    {before}
    buf = [empty_strided_cpu((1 << 22,), (1,), torch.float32) for _ in range(3)]
    return buf[-1]
for _ in range(2):
    r = call(); torch.ones(2); dm.step()
"""


def test_generated_code_that_allocates_without_an_operator_goes_on(run):  # noqa: F811
    """The compiler's code allocates without the dispatcher: 16 MiB outlive their release through the peak."""
    _, seen = run(GENERATED.format(inside="pass", before="pass"))
    assert [finding["rule"] for finding in seen["findings"]] == ["residual"]
    (finding,) = seen["findings"]
    assert finding["dead_at_peak_bytes"] == 16 << 20
    assert [name["name"] for path in finding["holders"]["paths"] for name in path["names"]] == ["w"]


def test_generated_code_that_lets_go_before_it_allocates_is_clean(run):  # noqa: F811
    _, seen = run(GENERATED.format(inside="pass", before="del w"))
    assert seen["findings"] == [] and seen["releases"]["freed"] == 2


@together("""
weight = torch.ones(100_000)
other = torch.ones(100_000)
dm.gather(1, weight)
with dm.release(1):
    pass
weight.copy_(other); weight.fill_(1.0); weight.zero_(); weight.uniform_(); weight.normal_()
torch.mul(other, 2.0, out=weight)
torch._foreach_copy_([weight], [other])
""")
def test_what_is_only_written_is_not_read(seen):  # noqa: F811
    assert seen.reads() == []
    assert {name.removeprefix("aten::") for (name,) in seen.marks("text", "write")} >= {
        "copy_", "fill_", "zero_", "uniform_", "normal_", "mul", "_foreach_copy_"
    }  # fmt: skip
    assert not [finding for finding in seen.findings if finding["rule"] == "use_after_release"]


@together("""
weight = torch.ones(100_000)
dm.gather(1, weight)
with dm.release(1):
    pass
weight.add_(1.0)
torch.ones(100_000).copy_(weight)
""")
def test_a_target_that_is_read_too_is_read(seen):  # noqa: F811
    assert seen.reads() == ["aten::add_", "aten::copy_"]


@together("""
for number in range(3):
    weight = torch.ones(100_000)
    dm.gather(1, weight)
    for _ in range(2):
        weight.mul_(2)
        with dm.release(1, users=3):
            pass
    del weight
    torch.ones(2)
    dm.step()
""")
def test_a_count_that_is_declared_too_high_swallows_no_gather(seen):  # noqa: F811
    assert seen.marks("cycle", "gather") == [(1,), (2,), (3,)]
    assert seen.marks("remaining", "release") == [(2,), (1,)] * 3
