"""Weights gathered on a side stream, one layer ahead, and used on the main one: each stream waits for the other where it
has to, and no block is freed while a stream still works on it.

    cuda_streams.py [--plant]      with --plant one weight that was released is kept

Prints the last loss.
"""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from sharded import Weights, model, train  # noqa: E402

WIDTH = 512


class OnSideStream(Weights):
    def __init__(self, plant: bool) -> None:
        super().__init__(0, plant)
        self.side = torch.cuda.Stream()

    def gather(self, key, shard):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)  # the buffer may have the place of one that the main stream still uses
        with torch.cuda.stream(self.side):
            copied = shard.detach().clone()
        main.wait_stream(self.side)
        whole = super().gather(key, copied)
        self.side.wait_stream(main)  # the copy's place is the side stream's again once the main one has read it
        return whole


def main() -> None:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.set_default_device("cuda")
    weights = OnSideStream("--plant" in sys.argv)
    print(train(model(weights, WIDTH), WIDTH).hex(), flush=True)


main()
