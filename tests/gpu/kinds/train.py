"""Twelve kinds of training on a GPU: `train.py KIND [WAY]`, healthy or with a tensor kept in each step (`ordinary/leaks.py`).

Each kind is a function that trains. What it prints, in JSON, is its own count of the bytes of its parameters, gradients and
optimizer state: the blocks that torch's allocator gave for the storages that are followed (64 KiB and more).
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import time
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / folder) for folder in ("ordinary", "programs")]

import counts  # noqa: E402
import leaks  # noqa: E402
import torch  # noqa: E402
from cuda_models import Gpt  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

STEPS = 24
WAY = counts.setup(sys.argv[2:])
DEVICE = "cuda"


def keep_of(model):
    return leaks.planted(WAY, model)


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def bytes_of(tensors) -> int:
    blocks = {block["address"]: block["size"] for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]}
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in map(local, tensors)}
    return sum(blocks[address] for address, size in storages.items() if size >= counts.FOLLOWED)


def print_counts(modules, optimizers, gradients: bool) -> None:
    """`gradients`: they live through all steps, so that they are there at the peak."""
    parameters = [parameter for module in modules for parameter in module.parameters()]
    state = [value for each in optimizers for of in each.state.values() for value in of.values() if torch.is_tensor(value)]
    counted = {"parameter": bytes_of(parameters), "optimizer state": bytes_of(each for each in state if each.is_cuda)}
    if gradients:
        counted["gradient"] = bytes_of(parameter.grad for parameter in parameters if parameter.grad is not None)
    print(json.dumps(counted))


def loop(model, batch, loss_of, optimizer=None, steps=STEPS, keep=None) -> None:
    """Plain training in which gradients are set to zero, not let go."""
    keep = keep or keep_of(model)
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        output, loss = loss_of(model, batch())
        keep(output)
        loss.backward()
        optimizer.step()
    print_counts([model], [optimizer], gradients=True)


def tokens_of(words, *shape):
    return lambda: torch.randint(words, shape, device=DEVICE)


def next_token(model, ids):
    logits = model(ids[:, :-1])
    return logits, F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def trainer():
    import transformers

    words, length, batch = 4000, 128, 8

    class Tokens(torch.utils.data.Dataset):
        tokens = torch.randint(words, (batch * STEPS, length))

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, index):
            return {"input_ids": self.tokens[index], "labels": self.tokens[index]}

    class Trainer(transformers.Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **more):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **more)
            keep(outputs.logits)
            return (loss, outputs) if return_outputs else loss

    config = transformers.GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=words, n_positions=length, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config)
    keep = keep_of(model)
    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            output_dir=folder, max_steps=STEPS, per_device_train_batch_size=batch, logging_steps=8, save_strategy="no",
            report_to=[], disable_tqdm=True, bf16=True,
        )  # fmt: skip
        training = Trainer(model=model, args=options, train_dataset=Tokens())
        training.remove_callback(transformers.PrinterCallback)
        training.train()
        print_counts([model], [training.optimizer.optimizer], gradients=False)


def lightning():
    import logging

    import pytorch_lightning

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Autoencoder(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 64))
            self.decoder = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024))

        def training_step(self, batch, index):
            output = self.decoder(self.encoder(batch))
            keep(output)
            loss = F.mse_loss(output, batch)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    model = Autoencoder()
    keep = keep_of(model)
    training = pytorch_lightning.Trainer(
        max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, precision="16-mixed",
    )  # fmt: skip
    training.fit(model, torch.utils.data.DataLoader(torch.randn(128 * STEPS, 1024), 128))
    model.cuda()  # the trainer has moved it to the CPU
    training.optimizers[0].load_state_dict(training.optimizers[0].state_dict())  # its state, too
    print_counts([model], training.optimizers, gradients=False)


def vision():
    import timm

    model = timm.create_model("vit_tiny_patch16_224", img_size=96, num_classes=20).to(DEVICE)
    scaler = torch.amp.GradScaler(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    keep = keep_of(model.blocks)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE, torch.float16):
            output = model.forward_features(torch.randn(16, 3, 96, 96, device=DEVICE))
            loss = F.cross_entropy(model.forward_head(output), torch.randint(20, (16,), device=DEVICE))
        keep(output)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print_counts([model], [optimizer], gradients=True)


def lora():
    import peft
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, use_cache=False
    )
    base = transformers.LlamaForCausalLM(config).to(DEVICE)
    base.gradient_checkpointing_enable()
    base.enable_input_require_grads()
    model = peft.get_peft_model(base, peft.LoraConfig(r=32, target_modules=["q_proj", "v_proj", "up_proj"]))
    model.train()

    def loss_of(model, ids):
        output = model(input_ids=ids, labels=ids)
        return output.logits, output.loss

    trained = [each for each in model.parameters() if each.requires_grad]
    loop(model, tokens_of(1000, 4, 128), loss_of, torch.optim.AdamW(trained, 1e-3))


def graph_network():
    from torch_geometric.nn import GCNConv

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(GCNConv(256, 256) for _ in range(3))

        def forward(self, x, edges):
            for layer in self.layers:
                x = layer(x, edges).relu()
            return x

    def batch():
        nodes = int(torch.randint(500, 900, ()))
        return torch.randn(nodes, 256, device=DEVICE), torch.randint(nodes, (2, nodes * 4), device=DEVICE)

    def loss_of(model, data):
        output = model(*data)
        return output, output.square().mean()

    loop(Network().to(DEVICE), batch, loss_of)


def compiled():
    model = Gpt(4, 256, 4, 128, 2000).to(DEVICE)
    fast = torch.compile(model)
    loop(model, tokens_of(2000, 8, 129), lambda _, ids: next_token(fast, ids))


def cuda_graph():
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, capturable=True)
    inputs = torch.randn(256, 512, device=DEVICE)

    def train():
        optimizer.zero_grad(set_to_none=False)
        output = model(inputs)
        output.square().mean().backward()
        optimizer.step()
        return output.detach()

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        result = train()
    keep = keep_of(model)
    for _ in range(STEPS):
        inputs.copy_(torch.randn(256, 512, device=DEVICE))
        captured.replay()
        keep(result.clone())
    print_counts([model], [optimizer], gradients=True)


def sharded():
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    with tempfile.NamedTemporaryFile() as store:
        dist.init_process_group("nccl", init_method=f"file://{store.name}-", rank=0, world_size=1)
        model = Gpt(4, 256, 4, 128, 2000).to(DEVICE)
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        loop(model, tokens_of(2000, 8, 129), next_token)
        dist.destroy_process_group()


def streams():
    model = Gpt(2, 256, 4, 128, 2000).to(DEVICE)
    aside = torch.cuda.Stream()

    def batch():
        with torch.cuda.stream(aside):
            ids = torch.randint(2000, (32, 129)).pin_memory().to(DEVICE, non_blocking=True)
        torch.cuda.current_stream().wait_stream(aside)
        ids.record_stream(torch.cuda.current_stream())
        return ids

    loop(model, batch, next_token)


def gan():
    generator = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024)).to(DEVICE)
    critic = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)).to(DEVICE)
    optimizers = [torch.optim.Adam(model.parameters(), 1e-3) for model in (generator, critic)]
    keep = keep_of(generator)
    for _ in range(STEPS):
        real = torch.randn(128, 1024, device=DEVICE)
        optimizers[1].zero_grad(set_to_none=False)
        made = generator(torch.randn(128, 64, device=DEVICE))
        (F.softplus(-critic(real)).mean() + F.softplus(critic(made.detach())).mean()).backward()
        optimizers[1].step()
        optimizers[0].zero_grad(set_to_none=False)
        F.softplus(-critic(made)).mean().backward()
        optimizers[0].step()
        keep(made)
    print_counts([generator, critic], optimizers, gradients=True)


def flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    attend = torch.compile(flex_attention)
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device=DEVICE)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)

        def forward(self, x):
            q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, 64).permute(2, 0, 3, 1, 4)
            return self.out(attend(q, k, v, block_mask=mask).transpose(1, 2).flatten(2))

    def loss_of(model, x):
        output = model(x)
        return output, output.square().mean()

    loop(Attention().to(DEVICE), lambda: torch.randn(64, 256, 256, device=DEVICE), loss_of)


def short_steps():
    """Ten milliseconds a step: most of the time is between the steps."""
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to(DEVICE)

    def batch():
        time.sleep(0.008)
        return torch.randn(128, 512, device=DEVICE)

    def loss_of(model, x):
        output = model(x)
        return output, (output - x).square().mean()

    loop(model, batch, loss_of, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), steps=40)


KINDS = [
    trainer, lightning, vision, lora, graph_network, compiled, cuda_graph, sharded, streams, gan, flex_attention, short_steps
]  # fmt: skip

if __name__ == "__main__":
    {kind.__name__: kind for kind in KINDS}[sys.argv[1]]()
