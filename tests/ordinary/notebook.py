"""A notebook, run cell by cell as a person would: its kernel is a process of its own."""

import pathlib
import sys

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).parent
WAY = sys.argv[1:]

CELLS = [
    f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nsys.argv[1:] = {WAY!r}\nimport counts, leaks, torch\nfrom torch import nn",
    "way = counts.setup()\nmodel = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))\n"
    "keep = leaks.planted(way, model)\noptimizer = torch.optim.AdamW(model.parameters(), 1e-3)\nmodel",
    "losses = []\nfor step in range(24):\n    x = torch.randn(64, 512)\n    output = model(x)\n    loss = (output - x).square().mean()\n"
    "    keep(output)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n    losses.append(loss.item())",
    "output",
    "losses[-1]",
    "counts.print_counts(model, optimizer)",
]

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print(notebook.cells[-1].outputs[-1]["text"], end="")
