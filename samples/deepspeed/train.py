"""Trains a GPT with DeepSpeed ZeRO-3 and DeepCompile, its graphs with gathers and releases only.

    torchrun --nproc-per-node 2 train.py [--steps 4] [--layers 8] [--width 1024] [--skip-head | --eager [--zero-init]]

Rank 0 prints one JSON line: the losses in hexadecimal, the highest allocated bytes of each step, a hash of its shards at
the end, of each step the bytes of gathered weights that autograd still had after the forward though their parameters were
released, and the ids that DeepSpeed itself gathered in the last forward where neither a graph nor a hook did.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os

import deepspeed
import torch
from deepspeed.compile.passes import zero3_compile
from torch import nn

VOCABULARY = 8192


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // 64
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, 64).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers: int, width: int, tokens: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.token(ids) + self.position(positions)
        for block in self.blocks:
            x = block(x)
        return nn.functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), labels.flatten())


def saved_weights(loss: torch.Tensor, model: nn.Module) -> int:
    """Bytes of the weights that matrix products saved for their backward, in storages that no parameter has any more."""
    current = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    seen, todo, saved = set(), [loss.grad_fn], {}
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if getattr(node, "_saved_mat2", None) is not None:
            storage = node._saved_mat2.untyped_storage()
            saved[storage.data_ptr()] = storage.nbytes()
        todo += [following for following, _ in node.next_functions]
    return sum(size for address, size in saved.items() if address not in current)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--skip-head", action="store_true", help="keep the last layer away from the compiler")
    parser.add_argument("--eager", action="store_true", help="ZeRO-3 by its module hooks, without DeepCompile")
    parser.add_argument("--zero-init", action="store_true", help="make the model under deepspeed.zero.Init")
    arguments = parser.parse_args()

    deepspeed.init_distributed()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    config = {
        "train_micro_batch_size_per_gpu": arguments.batch,
        "bf16": {"enabled": True},
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": True}},
        "compile": {"deepcompile": not arguments.eager},
        "zero_optimization": {
            "stage": 3,
            "stage3_param_persistence_threshold": 0,
            "overlap_comm": False,
            "contiguous_gradients": False,
        },
    }
    with deepspeed.zero.Init(config_dict_or_path=config) if arguments.zero_init else contextlib.nullcontext():
        model = Gpt(arguments.layers, arguments.width, arguments.tokens)
    if arguments.skip_head:
        model.head.forward = torch.compiler.disable(model.head.forward)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    if not arguments.eager:
        engine.compile(schedule=[(0, [zero3_compile.add_z3_gather_release])])

    ids = torch.randint(VOCABULARY, (arguments.batch, arguments.tokens + 1), device=device)
    positions = torch.arange(arguments.tokens, device=device)
    losses, peaks, saved = [], [], []
    for _ in range(arguments.steps):
        torch.cuda.reset_peak_memory_stats()
        loss = engine(ids[:, :-1], positions, ids[:, 1:])
        saved.append(saved_weights(loss, model))
        engine.backward(loss)
        engine.step()
        torch.cuda.synchronize()
        losses.append(loss.item().hex())
        del loss
        peaks.append(torch.cuda.max_memory_allocated())
    if torch.distributed.get_rank() == 0:
        shards = hashlib.sha256()
        for parameter in model.parameters():
            shards.update(parameter.ds_tensor.cpu().view(torch.uint8).numpy().tobytes())
        fallback = getattr(engine, "_deepcompile_z3_eager_fallback", None)
        eager = fallback.stats()["last_gathered_param_ids"] if fallback is not None else []
        printed = {"losses": losses, "peaks": peaks, "saved": saved, "eager": eager, "shards": shards.hexdigest()}
        print(json.dumps(printed), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
