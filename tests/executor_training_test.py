"""Training with sharded parameters equals, bit for bit, a plain loop over the ranks' batches in one model."""

from __future__ import annotations

import argparse
import math

import pytest
import torch
import torch.nn.functional as F
from zero3_ranks import ops, switched, world

from dcmt_zero3 import model, train
from dcmt_zero3.sharded import ShardedUnits

STEPS = 8


def arguments_of(**options) -> argparse.Namespace:
    defaults = {
        "steps": STEPS, "micro_batches": 2, "layers": 2, "width": 12, "vocabulary": 29, "tokens": 7,
        "prefetch": 0, "persistent_below": 0, "offload": False, "bf16": False, "skipped": [], "compiled": False,
        "reuse_buffers": False, "compile": None, "device": torch.device("cpu"),
    }  # fmt: skip
    return argparse.Namespace(**{**defaults, **options})


def sharded(size: int, bucket: int = 5000, **options) -> list[dict]:
    arguments = arguments_of(**options)
    if arguments.compiled:
        arguments.compiled = train.traced(arguments)
    if arguments.compile:
        torch._dynamo.reset()  # models that are gone count for its limit of recompilations
    return world.run_ranks(size, train.train, arguments, bucket_elements=bucket)


def plain(size: int, arguments: argparse.Namespace) -> dict:
    """One full model. Each rank's gradient is computed apart, divided by W, and added in the order of the ranks."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(*model.gpt(arguments.layers, arguments.width, 4, arguments.vocabulary, arguments.tokens))
    parameters = list(net.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-2, foreach=False)
    losses, norms = [[] for _ in range(size)], []
    for step in range(arguments.steps):
        total = None
        for micro in range(arguments.micro_batches):
            mean = None
            for rank in range(size):
                inputs, labels = train.batch(arguments, step, micro, rank)
                loss = F.cross_entropy(net(inputs).flatten(0, 1), labels.flatten())
                losses[rank].append(loss.item().hex())
                part = [gradient / size for gradient in torch.autograd.grad(loss, parameters)]
                mean = part if mean is None else [a + b for a, b in zip(mean, part, strict=True)]
            total = mean if total is None else [a + b for a, b in zip(total, mean, strict=True)]
        norm = norm_of(total, size)
        norms.append(norm.item().hex())
        scale = (train.MAX_NORM / (norm + 1e-6)).clamp(max=1.0)
        for parameter, gradient in zip(parameters, total, strict=True):
            parameter.grad = gradient * scale
        optimizer.step()
    return {"losses": losses, "norms": norms, "parameters": [p.detach() for p in parameters]}


def norm_of(gradients: list[torch.Tensor], size: int) -> torch.Tensor:
    """The squares of each rank's part first, padded with zeros; then the ranks in their order."""
    total = torch.zeros(())
    for rank in range(size):
        squares = []
        for gradient in gradients:
            p = math.ceil(gradient.numel() / size)
            part = torch.zeros(p * size)
            part[: gradient.numel()] = gradient.reshape(-1)
            squares.append(part[rank * p : (rank + 1) * p].square().sum())
        total = total + torch.stack(squares).sum()
    return total.sqrt()


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_training_equals_a_plain_loop_bit_for_bit(size):
    wanted = plain(size, arguments_of())
    assert any(float.fromhex(norm) > train.MAX_NORM for norm in wanted["norms"])  # clipping did something
    assert any(parameter.numel() % size for parameter in wanted["parameters"]) or size == 1  # so did the padding
    ranks = sharded(size)
    assert [one["losses"] for one in ranks] == wanted["losses"]
    assert [one["norms"] for one in ranks] == [wanted["norms"]] * size
    for one in ranks:
        for seen, right in zip(one["parameters"], wanted["parameters"], strict=True):
            assert torch.equal(seen, right)
        assert one["events"] == []


@pytest.fixture(scope="module")
def reference():
    return sharded(3, steps=5)


@pytest.mark.parametrize(
    "options",
    [
        {"prefetch": 1},
        {"prefetch": 3},
        {"persistent_below": 100},
        {"persistent_below": 10**9},
        {"offload": True},
        {"skipped": [1]},
        {"skipped": [0, 1, 2, 3], "prefetch": 1},
        {"bucket": 1},
        {"bucket": 10**6},
        {"prefetch": 2, "persistent_below": 50, "offload": True, "bucket": 700},
    ],
    ids=str,
)
def test_no_option_changes_a_number(reference, options):
    assert_equal(sharded(3, steps=5, **options), reference)


def test_options_do_what_they_say(reference):
    """By the groups and all-gathers of the training; registration has one for each parameter, clipping one a step."""
    parameters = len(reference[0]["parameters"])

    def traffic(**options) -> tuple[int, int]:
        groups, gathers, reductions = sharded(3, steps=5, **options)[0]["traffic"]
        assert reductions == 5 * 2 * parameters
        return groups, gathers - parameters - 5

    groups, gathers = traffic()
    assert gathers == 5 * 2 * 2 * parameters  # each micro-batch, forward and backward
    fused_groups, fused_gathers = traffic(prefetch=1)
    assert fused_gathers == gathers
    # All units but the first of a pass come in one group instead of one a parameter.
    first = {"forward": 2, "backward": 4}  # parameters of the embedding and of the head
    assert groups - fused_groups == 5 * 2 * sum(parameters - first[way] - 3 for way in first)
    assert traffic(persistent_below=10**9)[1] == 5 * parameters  # again only when the weights have changed


@pytest.mark.parametrize(
    "switch", ["release_clears_tensor_only", "buckets_kept_into_optimizer", "reload_map_held_to_end_of_backward"]
)
def test_the_defects_of_memory_change_no_number(reference, switch):
    with switched(switch):
        assert_equal(sharded(3, steps=5, offload=True), reference)


def test_a_skipped_unit_is_released_without_a_backward_too():
    def test(rank: int) -> None:
        units = ShardedUnits(rank, [torch.nn.Linear(5, 5) for _ in range(3)], skipped=frozenset({1}))

        def gathered() -> int:
            return sum(len(ops.gathered_buffers(id)) for id in units.ids(1))

        with torch.no_grad():
            units(torch.ones(2, 5))
        assert gathered() == 0
        units(torch.ones(2, 5))
        assert gathered() == 2  # a backward could come
        before = ops.traffic()[1]
        loss = units(torch.ones(2, 5)).sum()
        assert ops.traffic()[1] == before + 3 * 2  # what was left has been released, and gathered again
        units.start_backward(True)
        loss.backward()
        units.end_backward()
        assert gathered() == 0 and world.drain_events() == []

    world.run_ranks(2, test)


def test_the_padded_reduce_changes_norms_and_so_what_is_trained(reference):
    """Nothing but the norm shows foreign values in the padding; clipping carries them into every weight."""
    with switched("padded_reduce_reads_past_its_slice"):
        defect = sharded(3, steps=5)
    assert [one["losses"][:2] for one in defect] == [one["losses"][:2] for one in reference]
    assert all(seen != right for seen, right in zip(defect[0]["norms"], reference[0]["norms"], strict=True))


def test_as_published_all_defects_come_together(reference):
    with switched("as_published"):
        published = sharded(3, steps=5, offload=True)
    assert published[0]["norms"][0] != reference[0]["norms"][0]
    for rank, one in enumerate(published):
        assert {(event.kind, event.graph) for event in one["events"]} == {(world.EventKind.RESIDUAL, rank)}
        assert {event.id for event in one["events"]} == set(range(len(one["parameters"])))


def assert_equal(ranks: list[dict], others: list[dict]) -> None:
    for one, other in zip(ranks, others, strict=True):
        assert one["losses"] == other["losses"] and one["norms"] == other["norms"]
        assert all(torch.equal(a, b) for a, b in zip(one["parameters"], other["parameters"], strict=True))
