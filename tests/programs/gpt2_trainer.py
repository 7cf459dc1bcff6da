"""Fine-tunes a small GPT-2 with random weights on random tokens, by the transformers library's own Trainer."""

from __future__ import annotations

import argparse
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch  # noqa: E402
import transformers  # noqa: E402

import training_report  # noqa: E402

VOCABULARY = 1000
SEQUENCE = 64
BATCH = 4


class RandomTokens(torch.utils.data.Dataset):
    def __init__(self, length: int):
        self._tokens = torch.randint(VOCABULARY, (length, SEQUENCE))

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self._tokens[index], "labels": self._tokens[index]}


class RecordLosses(transformers.TrainerCallback):
    def __init__(self):
        self.losses: list[float] = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.losses.append(logs["loss"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="count allocations with torch's profiler")
    arguments = parser.parse_args()

    training_report.make_deterministic()
    config = transformers.GPT2Config(
        n_layer=2, n_embd=128, n_head=4, vocab_size=VOCABULARY, n_positions=SEQUENCE, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    losses = RecordLosses()
    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            output_dir=folder,
            max_steps=arguments.steps,
            per_device_train_batch_size=BATCH,
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            seed=0,
            dataloader_num_workers=0,
        )
        trainer = transformers.Trainer(
            model=model, args=options, train_dataset=RandomTokens(BATCH * arguments.steps), callbacks=[losses]
        )
        trainer.remove_callback(transformers.PrinterCallback)
        with training_report.memory_counts(arguments.profile) as counts:
            trainer.train()
    training_report.print_report(losses.losses, model.parameters(), counts)


if __name__ == "__main__":
    main()
