"""Four steps of layers whose weights are gathered by the executor's operators for each use. PERSISTENT: they stay gathered."""

import os
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402


def train(graph):
    shards = [torch.randn(256 * 256) for _ in range(4)]
    for key, shard in enumerate(shards):
        ops.register_param(key, [256, 256], shard, None, "PERSISTENT" in os.environ)
    ops.register_graph_z3(graph, list(range(4)))
    for _ in range(4):
        ops.start_forward()
        x = torch.ones(8, 256)
        with torch.no_grad():
            for key, shard in enumerate(shards):
                weight = ops.wait_allgather(ops.allgather_param(shard, graph, key), graph, key)
                x = ops.release_param(torch.nn.functional.linear(x, weight), graph, key, 1)
                del weight
        ops.end_forward()


world.run_ranks(1, train)
