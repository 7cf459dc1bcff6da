"""Programs keep tensors for good reasons: none of this is a leak. 48 steps, of 12 an epoch."""

import collections
import copy
import random

import torch
from torch import nn

SIZE = 20_000  # 80 KB: a storage that is followed
CACHE = {}


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = nn.Sequential(nn.Linear(128, 160), nn.Linear(160, 1))
    average = copy.deepcopy(model)
    last = {}
    model[0].register_forward_hook(lambda module, args, out: last.update(output=out.detach()))
    optimizer = torch.optim.AdamW(model.parameters())
    ring, replay, outputs, results, waiting = collections.deque(maxlen=8), [], [], [], collections.deque()
    best, best_state, hidden = float("inf"), None, torch.zeros(SIZE)
    for step in range(48):
        waiting.append(torch.randn(130, 128))  # batches that are fetched ahead
        if len(waiting) < 3:
            waiting.append(torch.randn(130, 128))
        x = waiting.popleft()
        loss = model(x).square().mean() / 2
        loss.backward()
        if step % 2:  # gradients of two batches
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for mean, parameter in zip(average.parameters(), model.parameters()):
                    mean.lerp_(parameter, 0.1)
        if loss.item() < best:
            best, best_state = loss.item(), {name: value.clone() for name, value in model.state_dict().items()}

        ring.append(torch.randn(SIZE))
        if len(replay) < 12:
            replay.append(torch.randn(SIZE))
        else:
            replay[random.randrange(12)] = torch.randn(SIZE)
        if step % 7 not in CACHE:
            CACHE[step % 7] = torch.randn(SIZE)
        outputs.append(torch.randn(SIZE))
        hidden = (hidden + torch.randn(SIZE)).detach()
        if step % 12 == 11:  # an epoch ends
            results.append(torch.stack(outputs).mean().item())
            outputs.clear()
            with torch.no_grad():
                results.append(sum(model(torch.randn(130, 128)).mean().item() for _ in range(3)))
        loss = loss.detach()
    print(len(ring), len(replay), len(CACHE), len(results), len(best_state), tuple(last["output"].shape), hidden.numel())


main()
