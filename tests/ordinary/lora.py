"""LoRA by peft on a small Llama, with gradient checkpointing."""

import os
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import counts  # noqa: E402
import leaks  # noqa: E402
import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

STEPS, BATCH, LENGTH, WORDS = 24, 4, 96, 1000

way = counts.setup()
config = transformers.LlamaConfig(
    vocab_size=WORDS, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, use_cache=False
)
base = transformers.LlamaForCausalLM(config)
base.gradient_checkpointing_enable()
base.enable_input_require_grads()
model = peft.get_peft_model(base, peft.LoraConfig(r=32, target_modules=["q_proj", "v_proj", "up_proj"]))
keep = leaks.planted(way, model)
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], 1e-3)
model.train()
for _ in range(STEPS):
    tokens = torch.randint(WORDS, (BATCH, LENGTH))
    output = model(input_ids=tokens, labels=tokens)
    keep(output.logits)
    output.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
counts.print_counts(model, optimizer)
