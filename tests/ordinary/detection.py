"""A detector of torchvision: images of many sizes, and a dict of losses."""

import counts
import leaks
import torch
import torchvision

STEPS, BATCH, CLASSES = 20, 2, 5

way = counts.setup()
model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
    weights=None, weights_backbone=None, num_classes=CLASSES
)
keep = leaks.planted(way, model.backbone)
optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)


def batch_of(step):
    images, targets = [], []
    for index in range(BATCH):
        height, width = 200 + 16 * ((step + index) % 5), 240 + 16 * ((step * 3 + index) % 4)
        boxes = torch.rand(4, 2) * 80
        images.append(torch.rand(3, height, width))
        targets.append({"boxes": torch.cat([boxes, boxes + 40 + torch.rand(4, 2) * 50], 1), "labels": torch.randint(1, CLASSES, (4,))})
    return images, targets


for step in range(STEPS):
    images, targets = batch_of(step)
    parts = model(images, targets)
    loss = sum(parts.values())
    keep(images[0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
counts.print_counts(model, optimizer)
