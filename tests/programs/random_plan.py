"""Runs random plans of gathers, uses and releases with unrelated allocations between them; plan N is step N.

Prints one JSON line per plan: `peak` is the most bytes that plan had allocated at once, above what was allocated when
it began, and `held` the bytes that its releases left behind. Both come from a simulation that does not use torch
(tests/random_plan_test.py compares it with torch's profiler). With --fixed the same plans run with releases that free.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random

import torch

import sample_operators as zero3  # before dc_memtrace: it makes the module findable
import dc_memtrace

FLOAT_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Action:
    """One thing to do: `name` says what, `key` to which weight (or scratch buffer), `value` is its argument."""

    name: str  # gather | use | alias | drop | release | scratch | free
    key: int
    value: int = 0  # alias, drop: number of the alias; release: n_users; scratch: elements


@dataclasses.dataclass(frozen=True)
class Plan:
    elements: list[int]  # of each weight
    actions: list[Action]


def make_plan(seed: int) -> Plan:
    """A plan in which every gather is released to its last use and everything is dropped by the end."""
    rng = random.Random(seed)
    weights = rng.randint(2, 8)
    sizes = [lambda: rng.randint(1, 300), lambda: rng.randint(15_000, 17_000), lambda: rng.randint(17_000, 300_000)]
    elements = [rng.choice(sizes)() for _ in range(weights)]
    prefetch = rng.randint(0, 3)
    actions: list[Action] = []
    aliases: list[tuple[int, int]] = []
    scratch: list[int] = []
    final_releases: list[Action] = []
    numbers = iter(range(1_000_000))

    def disturb() -> None:
        """Unrelated allocations, aliases that come and go, releases that were put off."""
        for _ in range(rng.randint(0, 3)):
            choice = rng.random()
            if choice < 0.4:
                scratch.append(next(numbers))
                actions.append(Action("scratch", scratch[-1], rng.randint(1, 400_000)))
            elif choice < 0.65 and scratch:
                actions.append(Action("free", scratch.pop(rng.randrange(len(scratch)))))
            elif choice < 0.8 and aliases:
                actions.append(Action("drop", *aliases.pop(rng.randrange(len(aliases)))))
            elif final_releases:
                actions.append(final_releases.pop(rng.randrange(len(final_releases))))

    for cycle in range(rng.randint(1, 2)):
        gathered = 0
        for key in range(weights):
            while gathered < min(key + prefetch + 1, weights):
                actions.append(Action("gather", gathered))
                for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
                    aliases.append((gathered, next(numbers)))
                    actions.append(Action("alias", *aliases[-1]))
                gathered += 1
                disturb()
            users = rng.randint(1, 3)
            for _ in range(users - 1):
                actions += [Action("use", key), Action("release", key, users)]
                disturb()
            actions.append(Action("use", key))
            final_releases.append(Action("release", key, users))
            if rng.random() < 0.7:
                actions.append(final_releases.pop(rng.randrange(len(final_releases))))
            disturb()
        rng.shuffle(final_releases)
        actions += final_releases
        final_releases.clear()
    actions += [Action("drop", *alias) for alias in rng.sample(aliases, len(aliases))]
    actions += [Action("free", number) for number in rng.sample(scratch, len(scratch))]
    return Plan(elements, actions)


def simulate(plan: Plan, fixed: bool) -> dict[str, int]:
    """What the plan has allocated at most, and what its final releases left behind, by counting references."""
    live: dict[tuple, int] = {}  # what is allocated -> bytes
    holders: dict[tuple, set] = {}  # gathered storage -> aliases of it
    current: dict[int, tuple] = {}  # key -> its latest gathered storage
    alias_of: dict[int, tuple] = {}
    uses: dict[int, int] = {}
    peak = held = 0
    for order, action in enumerate(plan.actions):
        if action.name == "gather":
            storage = ("gathered", action.key, order)
            current[action.key] = storage
            holders[storage] = set()
            uses[action.key] = 0
            live[storage] = zero3.gathered_bytes(plan.elements[action.key])
        elif action.name == "scratch":
            live["scratch", action.key] = action.value * FLOAT_BYTES
        elif action.name == "free":
            del live["scratch", action.key]
        elif action.name == "alias":
            alias_of[action.value] = current[action.key]
            holders[current[action.key]].add(action.value)
        elif action.name == "drop":
            storage = alias_of[action.value]
            holders[storage].discard(action.value)
            if not holders[storage] and current.get(action.key) != storage:
                live.pop(storage, None)
        elif action.name == "release":
            uses[action.key] += 1
            if uses[action.key] == action.value:
                storage = current.pop(action.key)
                if fixed or not holders[storage]:
                    del live[storage]
                else:
                    held += live[storage]
        peak = max(peak, sum(live.values()))
    assert not live, "a plan drops everything"
    return {"peak": peak, "held": held}


class Runner:
    """Runs a plan with real tensors. `gathered` is the program's own reference, given up before the final release."""

    def __init__(self, graph: int, plan: Plan):
        self._graph = graph
        self._plan = plan
        self._shards = [zero3.shard_weight(graph, key, torch.ones(n)) for key, n in enumerate(plan.elements)]
        self._activation = torch.ones(1)

    def run(self) -> None:
        gathered: dict[int, torch.Tensor] = {}
        aliases: dict[int, torch.Tensor] = {}
        scratch: dict[int, torch.Tensor] = {}
        uses: dict[int, int] = {}
        for action in self._plan.actions:
            key = action.key
            if action.name == "gather":
                gathered[key] = zero3.allgather_param(self._shards[key], self._graph, key)
                uses[key] = 0
            elif action.name == "use":
                zero3.wait_allgather(gathered[key], self._graph, key).neg_()
            elif action.name == "alias":
                aliases[action.value] = gathered[key].detach()
            elif action.name == "drop":
                del aliases[action.value]
            elif action.name == "release":
                uses[key] += 1
                if uses[key] == action.value:
                    del gathered[key]
                self._activation = zero3.release_param(self._activation, self._graph, key, action.value)
                self._activation.neg_()
            elif action.name == "scratch":
                scratch[key] = torch.empty(action.value)
            elif action.name == "free":
                del scratch[key]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the first plan; each next plan has the next one")
    parser.add_argument("--fixed", action="store_true", help="final releases free the storage")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    zero3.set_final_release(zero3.Release.STORAGE if arguments.fixed else zero3.Release.METADATA_ONLY)
    plans = [make_plan(arguments.seed + number) for number in range(arguments.plans)]
    runners = [Runner(number, plan) for number, plan in enumerate(plans)]
    dc_memtrace.step(-1)  # the set-up
    for number, (plan, runner) in enumerate(zip(plans, runners)):
        runner.run()
        dc_memtrace.step(number)
        print(json.dumps({"plan": number, "seed": arguments.seed + number, **simulate(plan, arguments.fixed)}))


if __name__ == "__main__":
    main()
