"""Trains torchvision's ResNet-18 on random images."""

from __future__ import annotations

import argparse

import torch
import torchvision

import training_report

BATCH = 4
IMAGE = 32
CLASSES = 10


def train(model: torch.nn.Module, steps: int) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses = []
    for _ in range(steps):
        images = torch.randn(BATCH, 3, IMAGE, IMAGE)
        labels = torch.randint(CLASSES, (BATCH,))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="count allocations with torch's profiler")
    arguments = parser.parse_args()

    training_report.make_deterministic()
    model = torchvision.models.resnet18(num_classes=CLASSES)
    with training_report.memory_counts(arguments.profile) as counts:
        losses = train(model, arguments.steps)
    training_report.print_report(losses, model.parameters(), counts)


if __name__ == "__main__":
    main()
