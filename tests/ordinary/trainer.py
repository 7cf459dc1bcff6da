"""Fine-tunes a small GPT-2 by the Trainer of transformers, with an evaluation in between."""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import counts  # noqa: E402
import leaks  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

STEPS, BATCH, LENGTH, WORDS = 24, 8, 96, 2000


class Tokens(torch.utils.data.Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(WORDS, (count, LENGTH))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class Trainer(transformers.Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **more)
        if model.training:
            keep(outputs.logits)
        return (loss, outputs) if return_outputs else loss


way = counts.setup()
config = transformers.GPT2Config(
    n_layer=3, n_embd=192, n_head=4, vocab_size=WORDS, n_positions=LENGTH, bos_token_id=0, eos_token_id=0
)
model = transformers.GPT2LMHeadModel(config)
keep = leaks.planted(way, model)
with tempfile.TemporaryDirectory() as folder:
    options = transformers.TrainingArguments(
        output_dir=folder, max_steps=STEPS, per_device_train_batch_size=BATCH, logging_steps=4, eval_strategy="steps",
        eval_steps=8, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, dataloader_num_workers=0,
    )  # fmt: skip
    trainer = Trainer(model=model, args=options, train_dataset=Tokens(BATCH * STEPS), eval_dataset=Tokens(16))
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    counts.print_counts(model, trainer.optimizer.optimizer)
