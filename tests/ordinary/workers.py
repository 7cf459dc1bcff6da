"""A convolution network over images that two worker processes make with numpy."""

import counts
import leaks
import numpy
import torch
from torch import nn

STEPS, BATCH, SIZE, CLASSES = 24, 16, 48, 10


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        random = numpy.random.default_rng(index)
        image = random.standard_normal((3, SIZE, SIZE), dtype=numpy.float32)
        return numpy.roll(image, index % 7, axis=2), int(random.integers(CLASSES))


def main():
    way = counts.setup()
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, CLASSES),
    )  # fmt: skip
    keep = leaks.planted(way, model[0])
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    loader = torch.utils.data.DataLoader(Images(), BATCH, num_workers=2, persistent_workers=True)
    correct = 0
    for images, labels in loader:
        output = model(images)
        loss = nn.functional.cross_entropy(output, labels)
        keep(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += int((output.argmax(1) == labels).sum())
    counts.print_counts(model, optimizer)


if __name__ == "__main__":
    main()
