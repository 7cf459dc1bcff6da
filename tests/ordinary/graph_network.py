"""A graph network of torch_geometric over batches of graphs of many sizes."""

import counts
import leaks
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

EPOCHS, GRAPHS, BATCH, WIDTH, CLASSES = 3, 64, 8, 256, 4


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([GCNConv(WIDTH, WIDTH) for _ in range(3)])
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, data):
        x = data.x
        for layer in self.layers:
            x = layer(x, data.edge_index).relu()
        return x, self.head(global_mean_pool(x, data.batch))


way = counts.setup()
graphs = []
for _ in range(GRAPHS):
    nodes = int(torch.randint(20, 60, ()))
    graphs.append(Data(x=torch.randn(nodes, WIDTH), edge_index=torch.randint(nodes, (2, nodes * 4)), y=torch.randint(CLASSES, (1,))))
model = Network()
keep = leaks.planted(way, model)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(EPOCHS):
    for data in DataLoader(graphs, BATCH, shuffle=True):
        nodes, output = model(data)
        loss = nn.functional.cross_entropy(output, data.y)
        keep(nodes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
counts.print_counts(model, optimizer)
