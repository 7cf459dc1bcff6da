"""`snapshot` of programs that run meanwhile: the bytes that it lists are mapped by the process, whatever is being made and
freed while the memory is read. One snapshot, or DCMT_SNAPSHOTS, of a training and of each of two workers of its loader.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import proc
import recorded

SNAPSHOTS = int(os.environ.get("DCMT_SNAPSHOTS", "1"))

TRAINING = """
import os, sys, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 1 << 30
    def __getitem__(self, at): return torch.randn(3, 64, 64), torch.randn(256)
def main():
    torch.set_num_threads(1)
    layers = [torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True) for _ in range(2)]
    model = torch.nn.Sequential(torch.nn.Flatten(2), torch.nn.LazyLinear(256), *layers)
    loader = torch.utils.data.DataLoader(Data(), batch_size=32, num_workers=2, multiprocessing_context="fork")
    optimizer = None
    for images, targets in loader:
        out = model(images.reshape(32, 3, 4096)).mean(1)
        optimizer = optimizer or torch.optim.AdamW(model.parameters())
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(out, targets).backward()
        optimizer.step()
        if sys.stdout:
            print("step", flush=True)
            sys.stdout = None
main()
"""


def test_bytes_are_within_what_the_process_maps(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(TRAINING)
    with subprocess.Popen([sys.executable, "-W", "ignore", program], stdout=subprocess.PIPE, text=True) as training:
        try:
            assert training.stdout.readline() == "step\n"
            workers = sorted(proc.children(training.pid))
            assert len(workers) >= 2
            wrong, storages, failed = [], 0, []
            for pid in [training.pid, *workers[:2]]:
                for _ in range(SNAPSHOTS):
                    result = recorded.tool("snapshot", pid, "--smallest", 4096, "--json")
                    mapped = proc.mapped(pid)
                    if result.returncode != 0:
                        failed.append(result.stderr)
                        continue
                    listed = json.loads(result.stdout)["storages"]
                    storages += len(listed)
                    sizes = [storage["bytes"] for storage in listed]
                    if sum(sizes) > mapped or max(sizes, default=0) > mapped:
                        wrong.append((pid == training.pid, sum(sizes), mapped))
                    time.sleep(0.01)
            assert training.poll() is None, "the program came to harm"
        finally:
            training.kill()
    print(f"{3 * SNAPSHOTS} snapshots, {storages} storages, {len(failed)} failed")
    assert wrong == [] and failed == []
    assert storages > 0
