"""A vision transformer of timm with autocast, an average of its weights, mixup and a schedule."""

import counts
import leaks
import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch

STEPS, BATCH, SIZE, CLASSES = 24, 8, 96, 20

way = counts.setup()
model = timm.create_model("vit_tiny_patch16_224", img_size=SIZE, num_classes=CLASSES)
keep = leaks.planted(way, model.blocks)
average = timm.utils.ModelEmaV3(model, decay=0.99)
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=STEPS)
mixup = timm.data.Mixup(mixup_alpha=0.8, num_classes=CLASSES)
criterion = timm.loss.SoftTargetCrossEntropy()
losses = timm.utils.AverageMeter()
for step in range(STEPS):
    images, labels = mixup(torch.randn(BATCH, 3, SIZE, SIZE), torch.randint(CLASSES, (BATCH,)))
    with torch.autocast("cpu", torch.bfloat16):
        output = model.forward_features(images)
        loss = criterion(model.forward_head(output), labels)
    keep(output)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model, step)
    schedule.step(step)
    losses.update(loss.item(), BATCH)
counts.print_counts(model, optimizer, copies=(average.module,))
