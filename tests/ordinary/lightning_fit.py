"""An autoencoder by Lightning, with validation and its sanity check."""

import logging
import warnings

import counts
import leaks
import lightning
import torch
from torch import nn
from torch.nn import functional as F

STEPS, BATCH, WIDTH = 24, 64, 1024
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, 64))
        self.decoder = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, WIDTH))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def training_step(self, batch, index):
        output = self(batch)
        loss = F.mse_loss(output, batch)
        keep(output)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("validation", F.mse_loss(self(batch), batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


way = counts.setup()
model = Autoencoder()
keep = leaks.planted(way, model)
training = torch.utils.data.DataLoader(torch.randn(BATCH * STEPS, WIDTH), BATCH)
validation = torch.utils.data.DataLoader(torch.randn(BATCH * 2, WIDTH), BATCH)
trainer = lightning.Trainer(
    max_epochs=1, val_check_interval=STEPS // 3, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(model, training, validation)
counts.print_counts(model, *trainer.optimizers)
