"""Workers of a DataLoader read the rows of their data set: a list of texts, or one array of them. Or they keep what they read."""

from __future__ import annotations

import pathlib
import sys
import time

import numpy
import torch

ROWS = 400_000


class Rows(torch.utils.data.Dataset):
    def __init__(self, kind: str, stop: pathlib.Path) -> None:
        self.kind, self.stop = kind, stop
        self.seen: list[str] = []
        self.rows = [f"row {row:9} " + "text " * 20 for row in range(ROWS)]
        if kind == "array":
            self.rows = numpy.array(self.rows)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> int:
        if index < 2 and self.kind != "keeps":  # each of two workers reads all rows
            return sum(len(str(row)) for row in self.rows)
        if self.kind == "keeps":
            self.seen += [f"{index} {number} " + "seen " * 30 for number in range(200)]
        time.sleep(0.001)
        return 0


def main() -> None:
    torch.set_num_threads(1)
    rows = Rows(sys.argv[1], pathlib.Path(sys.argv[2]))
    for batch in torch.utils.data.DataLoader(rows, batch_size=1, num_workers=2):
        torch.nn.Linear(64, 64)(torch.rand(8, 64)).sum().backward()
        if rows.stop.exists():
            break
        time.sleep(0.01)
    print("done", int(batch))


if __name__ == "__main__":
    main()
