"""What the package exports, read back by the clients of others: prometheus_client, OpenTelemetry's SDK, mcp, W&B, MLflow, TensorBoard.

Run by scripts/soak where DCMT_CLIENTS_PYTHON is a Python that has some of them. Those that it lacks are skipped. W&B works
offline, MLflow in a folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
import recorded
import written_trace

PYTHON = os.environ["DCMT_CLIENTS_PYTHON"]

PROMETHEUS = """
from prometheus_client.parser import text_string_to_metric_families as families
found = {each.name: each for each in families(dc_memtrace.prometheus({"rank": 3, "run": 'a"'}))}
family = found["dc_memtrace_peak_resident_bytes"]
(sample,) = family.samples
answer = [family.type, sample.labels, sample.value]
"""

OPENTELEMETRY = """
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
dc_memtrace.opentelemetry(MeterProvider([reader]).get_meter("training"), {"rank": 3})
(scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
(metric,) = [each for each in scope.metrics if each.name == "dc_memtrace.peak_resident_bytes"]
(point,) = metric.data.data_points
answer = [metric.unit, dict(point.attributes), point.value]
"""

MCP = """
import asyncio, os
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def ask():
    server = StdioServerParameters(command=sys.executable, args=["-m", "dc_memtrace.mcp_server", sys.argv[2]], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        tools = sorted(each.name for each in (await client.list_tools()).tools)
        texts = []
        for name, arguments in [("report", {"path": "one.dcmt"}), ("query", {"path": "one.dcmt", "sql": "SELECT sum(bytes) FROM block"}),
                                ("query", {"path": "one.dcmt", "sql": "DELETE FROM block"}), ("report", {"path": "../x"})]:
            result = await client.call_tool(name, arguments)
            texts.append([result.is_error, result.content[0].text])
        return [tools, texts]

answer = asyncio.run(ask())
"""


def answer(module: str, program: str, folder) -> object:
    """What the program gives to `answer`, or a skip where the module is missing."""
    if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
        pytest.skip(f"{PYTHON} cannot import {module}")
    result = folder / "answer.json"
    program = f"import json, sys\nimport dc_memtrace\n{program}\njson.dump(answer, open(sys.argv[1], 'w'))"
    environment = recorded.environment(WANDB_MODE="offline", WANDB_SILENT="true", MLFLOW_ALLOW_FILE_STORE="true")
    environment["PATH"] = f"{recorded.TOOL.parent}:{environment['PATH']}"
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", program, result, folder], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(result.read_text())


def test_prometheus(tmp_path):
    kind, labels, value = answer("prometheus_client", PROMETHEUS, tmp_path)
    assert (kind, labels) == ("gauge", {"rank": "3", "run": 'a"'}) and value > 1 << 20


def test_opentelemetry(tmp_path):
    unit, attributes, value = answer("opentelemetry.sdk.metrics", OPENTELEMETRY, tmp_path)
    assert (unit, attributes) == ("By", {"rank": 3}) and value > 1 << 20


def test_mcp(tmp_path):
    trace = written_trace.Trace(tmp_path / "one.dcmt")
    trace.lifetime("block", trace.next_seq(), None, address=64, bytes=4096)
    trace.save()
    trace.database.close()
    tools, (report, rows, changed, outside) = answer("mcp", MCP, tmp_path)
    assert tools == ["diff", "holders", "list_traces", "peak", "query", "report"]
    assert report[0] is False and "4.0 KiB" in report[1]
    assert rows[0] is False and json.loads(rows[1])["rows"] == [[4096]]
    assert changed[0] is True and "not authorized" in changed[1]
    assert outside[0] is True and "no such recording" in outside[1]


def lines_of_page(client: str) -> str:
    """The line of docs/howto.md that writes the figures to a client."""
    page = (recorded.ROOT / "docs" / "howto.md").read_text()
    (block,) = re.findall(r"```python\n(figures = .*?)```", page, re.DOTALL)
    parts = block.split("\n\n")
    return parts[0] + "\n" + next(each for each in parts if client in each)


def test_tensorboard(tmp_path):
    read = """
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
writer, step = SummaryWriter("board"), 7
{lines}
writer.close()
board = EventAccumulator("board").Reload()
(scalar,) = board.Scalars("memory/process/peak_resident_bytes")
answer = [scalar.step, scalar.value]
"""
    step, value = answer("tensorboard", read.format(lines=lines_of_page("writer")), tmp_path)
    assert step == 7 and value > 1 << 20


def test_mlflow(tmp_path):
    read = """
import mlflow
mlflow.set_tracking_uri("file:" + sys.argv[2] + "/runs")
step = 7
open("report.html", "w").write("<p>report</p>")
with mlflow.start_run() as run:
{lines}
    mlflow.log_artifact("report.html")
client = mlflow.MlflowClient()
(metric,) = client.get_metric_history(run.info.run_id, "memory/process/peak_resident_bytes")
answer = [metric.step, metric.value, [each.path for each in client.list_artifacts(run.info.run_id)]]
"""
    lines = "".join(f"    {line}\n" for line in lines_of_page("mlflow").splitlines())
    step, value, artifacts = answer("mlflow", read.format(lines=lines), tmp_path)
    assert (step, artifacts) == (7, ["report.html"]) and value > 1 << 20


def test_wandb(tmp_path):
    """Its own program has no reader without a server: the file is a log of W&B's own messages, in blocks of 32 KiB."""
    read = """
import glob, wandb
from wandb.proto import wandb_internal_pb2
step = 7
run = wandb.init(project="memory", dir=sys.argv[2])
{lines}
wandb.log({{"report": wandb.Html("<p>report</p>")}}, step=step)
run.finish()
(path,) = glob.glob(sys.argv[2] + "/wandb/offline-run-*/*.wandb")
data, at, message, answer = open(path, "rb").read(), 7, b"", []
while at + 7 <= len(data):
    if 32768 - at % 32768 < 7:
        at += 32768 - at % 32768
        continue
    size, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
    message += data[at + 7:at + 7 + size]
    at += 7 + size
    if kind in (1, 4):  # the whole, or its last part
        record = wandb_internal_pb2.Record()
        record.ParseFromString(message)
        answer += [item.key or "/".join(item.nested_key) for item in record.history.item]
        message = b""
"""
    keys = answer("wandb", read.format(lines=lines_of_page("wandb")), tmp_path)
    assert "memory/process/peak_resident_bytes" in keys
    assert any(key.startswith("report") for key in keys)
