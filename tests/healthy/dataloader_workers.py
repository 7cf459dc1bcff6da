import torch
from sharded import Weights, model, train

KEEP = []


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.full((169,), index / 16)


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 169)
    total = 0.0
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2):
        total += batch.sum().item() + train(network, 169, steps=1)
    return total
