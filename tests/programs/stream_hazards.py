"""Memory that a side stream uses, freed and allocated again: as programs get it wrong and, with --fixed, right.

    stream_hazards.py [--fixed] [CASE...]      all cases without names

Each case is a function; what is wrong with it is in its branch `if not fixed`. One JSON line: the cases that ran.
"""

from __future__ import annotations

import argparse
import json

import torch

ELEMENTS = 8 << 20  # 32 MiB: a segment of its own
CYCLES = 20_000_000  # the side stream is still at work when the host goes on
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def ones() -> torch.Tensor:
    return torch.ones(ELEMENTS, device="cuda")


def main_stream() -> torch.cuda.Stream:
    return torch.cuda.current_stream()


def again(place: int, fixed: bool) -> torch.Tensor:
    """The next owner of the memory, which it uses at once."""
    following = torch.empty(ELEMENTS, device="cuda")
    assert fixed or following.data_ptr() == place, "the premise: the memory is handed out again"
    return following.zero_()


@case
def no_record_stream(fixed: bool) -> None:
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    if fixed:
        x.record_stream(side)
    place = x.data_ptr()
    del x
    again(place, fixed)
    del result


@case
def waits_in_the_wrong_direction(fixed: bool) -> None:
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    if fixed:
        main_stream().wait_stream(side)
    else:
        side.wait_stream(main_stream())
    place = x.data_ptr()
    del x
    again(place, fixed)
    del result


@case
def event_of_the_wrong_stream(fixed: bool) -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    event.record(side if fixed else main_stream())
    main_stream().wait_event(event)
    place = x.data_ptr()
    del x
    again(place, fixed)
    del result


@case
def event_recorded_too_early(fixed: bool) -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    x = ones()
    side.wait_stream(main_stream())
    if not fixed:
        event.record(side)
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    if fixed:
        event.record(side)
    event.synchronize()
    place = x.data_ptr()
    del x
    again(place, fixed)
    del result


@case
def copy_to_the_host(fixed: bool) -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    host = torch.empty(ELEMENTS, pin_memory=True)
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        host.copy_(x, non_blocking=True)
        event.record(side)
    if fixed:
        event.synchronize()
    place = x.data_ptr()
    del x
    again(place, fixed)
    event.synchronize()


@case
def prefetched_batch(fixed: bool) -> None:
    """The batch belongs to the side stream, and the main stream reads it."""
    side = torch.cuda.Stream()
    host = torch.ones(ELEMENTS, pin_memory=True)
    with torch.cuda.stream(side):
        batch = host.to("cuda", non_blocking=True)
    main_stream().wait_stream(side)
    torch.cuda._sleep(CYCLES)
    result = batch * 2
    if fixed:
        batch.record_stream(main_stream())
    place = batch.data_ptr()
    del batch
    with torch.cuda.stream(side):
        following = host.to("cuda", non_blocking=True)
    assert fixed or following.data_ptr() == place
    side.synchronize()
    del result


@case
def copy_into_a_buffer_that_was_in_use(fixed: bool) -> None:
    """The buffer has the place of a tensor that the main stream still reads."""
    side = torch.cuda.Stream()
    host = torch.ones(ELEMENTS, pin_memory=True)
    x = ones()
    torch.cuda._sleep(CYCLES)
    result = x * 2
    place = x.data_ptr()
    del x
    buffer = torch.empty(ELEMENTS, device="cuda")
    assert buffer.data_ptr() == place
    if fixed:
        side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        buffer.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    del buffer, result


@case
def one_of_two_streams(fixed: bool) -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    x = ones()
    for stream in (first, second):
        stream.wait_stream(main_stream())
    results = []
    for stream in (first, second):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(CYCLES)
            results.append(x * 2)
    main_stream().wait_stream(first)
    if fixed:
        main_stream().wait_stream(second)
    place = x.data_ptr()
    del x
    again(place, fixed)
    del results


@case
def bucket_of_a_reduction(fixed: bool) -> None:
    """A flat bucket on a stream for communication, which is dropped before the main stream waits."""
    communication = torch.cuda.Stream()
    gradients = [torch.ones(ELEMENTS // 2, device="cuda") for _ in range(2)]
    bucket = torch.cat(gradients)
    communication.wait_stream(main_stream())
    with torch.cuda.stream(communication):
        torch.cuda._sleep(CYCLES)
        bucket.mul_(0.5)
    place = bucket.data_ptr()
    if fixed:
        main_stream().wait_stream(communication)
    del bucket
    again(place, fixed)
    main_stream().wait_stream(communication)


@case
def backward_on_a_side_stream(fixed: bool) -> None:
    side = torch.cuda.Stream()
    weight = torch.ones(1, device="cuda", requires_grad=True)
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        (x * weight).sum().backward()
    if fixed:
        main_stream().wait_stream(side)
    place = x.data_ptr()
    del x
    again(place, fixed)


@case
def synchronizes_another_stream(fixed: bool) -> None:
    side, other = torch.cuda.Stream(), torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    (side if fixed else other).synchronize()
    place = x.data_ptr()
    del x
    again(place, fixed)
    del result


@case
def result_of_a_side_stream(fixed: bool) -> None:
    """The side stream makes a result that the main stream reads, and gets its memory back."""
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        result = x * 2
    main_stream().wait_stream(side)
    torch.cuda._sleep(CYCLES)
    read = result + 1
    place = result.data_ptr()
    if fixed:
        side.wait_stream(main_stream())
    del result
    with torch.cuda.stream(side):
        again(place, fixed)
    main_stream().wait_stream(side)
    del read, x


# Only right: other ways to order the uses.


def kept_until_the_wait() -> None:
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        kept = [x, x * 2]
    del x
    torch.empty(ELEMENTS, device="cuda").zero_()
    main_stream().wait_stream(side)
    kept.clear()
    torch.empty(ELEMENTS, device="cuda").zero_()


def synchronizes_the_device() -> None:
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    del x
    torch.cuda.synchronize()
    torch.empty(ELEMENTS, device="cuda").zero_()
    del result


def waits_after_the_free() -> None:
    """The next owner gets the memory before, and uses it after the wait."""
    side = torch.cuda.Stream()
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        result = x * 2
    del x
    following = torch.empty(ELEMENTS, device="cuda")
    main_stream().wait_stream(side)
    following.zero_()
    del result


def copies_to_pageable_memory() -> None:
    """CUDA ends such a copy before the call returns."""
    side = torch.cuda.Stream()
    host = torch.empty(ELEMENTS)
    x = ones()
    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        host.copy_(x, non_blocking=True)
    del x
    torch.empty(ELEMENTS, device="cuda").zero_()


def captures_a_graph() -> None:
    """Blocks of a graph have an order of their own."""
    side, other = torch.cuda.Stream(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        x = ones()
        other.wait_stream(side)
        with torch.cuda.stream(other):
            y = x * 2
        del x
        side.wait_stream(other)
        z = torch.empty(ELEMENTS, device="cuda").zero_()
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()
    del y, z, graph


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    warm = torch.ones(1, device="cuda") + 1
    names = arguments.cases or list(CASES)
    for name in names:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        CASES[name](arguments.fixed)
    right = [kept_until_the_wait, synchronizes_the_device, waits_after_the_free, copies_to_pageable_memory,
             captures_a_graph]
    for function in right if arguments.fixed and not arguments.cases else []:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        function()
        names.append(function.__name__)
    torch.cuda.synchronize()
    print(json.dumps({"cases": names, "warm": warm.item()}), flush=True)


main()
