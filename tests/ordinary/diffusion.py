"""A U-Net of diffusers that learns to remove noise, with accumulation over two batches and an average of its weights."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import counts  # noqa: E402
import diffusers  # noqa: E402
import leaks  # noqa: E402
import torch  # noqa: E402
from diffusers.training_utils import EMAModel  # noqa: E402

STEPS, ACCUMULATED, BATCH, SIZE = 14, 2, 4, 32

way = counts.setup()
model = diffusers.UNet2DModel(
    sample_size=SIZE, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)  # fmt: skip
keep = leaks.planted(way, model)
noises = diffusers.DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
average = EMAModel(model.parameters(), decay=0.99)
for _ in range(STEPS):
    for _ in range(ACCUMULATED):
        images, noise = torch.randn(BATCH, 3, SIZE, SIZE), torch.randn(BATCH, 3, SIZE, SIZE)
        times = torch.randint(100, (BATCH,))
        noisy = noises.add_noise(images, noise, times)
        predicted = model(noisy, times).sample
        loss = torch.nn.functional.mse_loss(predicted, noise) / ACCUMULATED
        keep(torch.cat([noisy, predicted, noise]))
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    average.step(model.parameters())
counts.print_counts(model, optimizer)
