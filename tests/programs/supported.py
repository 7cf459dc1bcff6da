"""A small training for the table of supported versions: losses, and nothing that depends on the version of torch.

    supported.py plain|compiled|workers
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WIDTH = 128


class Data(Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        return torch.randn(WIDTH, generator=generator), torch.tensor(index % 4)


def main(kind: str) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, 4))
    forward = torch.compile(model) if kind == "compiled" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for inputs, labels in DataLoader(Data(), batch_size=8, num_workers=2 if kind == "workers" else 0):
        loss = nn.functional.cross_entropy(forward(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main(sys.argv[1])
