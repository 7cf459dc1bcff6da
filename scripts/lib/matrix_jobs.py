"""The jobs of scripts/matrix: each is recorded under one Python with torch, and the trace is reduced to a result."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
SAMPLE = ROOT / "samples" / "zero3_release" / "train.py"

#: Names of jobs with the arguments of Python. OUT stands for a file that belongs to the job.
JOBS = {
    "plain step": [PROGRAMS / "supported.py", "plain"],
    "compiled step": [PROGRAMS / "supported.py", "compiled"],
    "ZeRO-3 sample": [SAMPLE],
    "ZeRO-3 sample, fixed": [SAMPLE, "--fixed"],
    "FSDP2, 2 ranks": ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", PROGRAMS / "fsdp2.py", "OUT",
                       "3", "192", "cpu"],
    "DataLoader workers": [PROGRAMS / "supported.py", "workers"],
}
#: Jobs whose peak differs between versions of torch, or between runs, with the reason.
VARIES = {
    "compiled step": "each torch compiles other code",
    "FSDP2, 2 ranks": "it depends on which rank is ahead",
    "DataLoader workers": "a batch of the next worker, 4,160 B, has arrived by then or not",
}
#: How often a failed job is repeated: without the tool, to check whether it fails alone, and recorded.
TRIES = 10
#: Needs nothing of the project, calls the hooked functions, and has an exit code that no tool would invent.
MEETING = ("import sys, torch; x = torch.ones(64, 64, requires_grad=True); y = torch.nn.Linear(64, 64)(x).sum(); "
           "y.backward(); print(x.grad.shape); sys.exit(7)")

QUESTION = ("import json, sys; from importlib import metadata; "
            "print(json.dumps([metadata.version('torch'), '%d.%d.%d' % sys.version_info[:3]]))")


class Installed:
    """A Python with torch. `name` consists of both versions."""

    def __init__(self, python: str) -> None:
        self.python = shutil.which(python) or python
        answer = subprocess.run([self.python, "-c", QUESTION], capture_output=True, text=True)
        if answer.returncode != 0:
            raise SystemExit(f"{python} is no Python that has torch")
        self.torch, self.cpython = json.loads(answer.stdout)
        torch, cpython = (version.split(".") for version in (self.torch, self.cpython))
        self.name = f"torch{torch[0]}.{torch[1]}-cp{cpython[0]}{cpython[1]}"


def keep(path: pathlib.Path, result: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def run(build: pathlib.Path, installed: Installed, out: pathlib.Path | None, arguments: list) -> subprocess.CompletedProcess:
    """Runs a job: recorded into `out`, or without the tool."""
    recorder = []
    if out is not None:
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        recorder = [build / "bin" / "dc-memtrace", "run", "-o", out, "--"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "DCMT_BUILD_DIR": str(build), "OMP_NUM_THREADS": "1",
                   "TORCHINDUCTOR_CACHE_DIR": str(build / "inductor" / installed.name)}
    return subprocess.run([*recorder, installed.python, *arguments], capture_output=True, text=True, env=environment, timeout=900)


def shell_code(code: int) -> int:
    return 128 - code if code < 0 else code


def fails_alone(build: pathlib.Path, installed: Installed, arguments: list, code: int) -> bool:
    return any(shell_code(run(build, installed, None, arguments).returncode) == code for _ in range(TRIES))


def facts_of(trace: dict) -> dict:
    """The facts that must not depend on the version of torch."""
    peak = trace["peak"]
    return {
        "rank": trace["rank"],
        "peak": peak["bytes"],
        "predicted": peak["predicted_bytes"],
        "steps": trace["facts"]["steps"],
        "releases": {key: trace["releases"][key] for key in ("total", "freed", "late", "never")},
        "findings": [[finding["title"], sorted(finding["classes"]), finding["bytes"]] for finding in trace["findings"]],
    }


def record(job: str, installed: Installed, build: pathlib.Path) -> dict:
    """Records a job. `outcome` is "recorded", "partly", "refused" or "failed", `why` the reason of the last three."""
    folder = build / "jobs" / job.replace(" ", "_").replace(",", "")
    arguments = [folder.with_suffix(".json") if argument == "OUT" else argument for argument in JOBS[job]]
    done = run(build, installed, folder, arguments)
    result = {"torch": installed.torch, "cpython": installed.cpython, "outcome": "failed", "why": "", "traces": []}
    alone = []
    if done.returncode != 0 and fails_alone(build, installed, arguments, done.returncode):
        alone.append(f"the job alone ends with exit code {done.returncode} at times: {last_line(done.stderr)}")
        for _ in range(TRIES):
            if done.returncode != 0:
                done = run(build, installed, folder, arguments)
    folder.with_suffix(".txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        return {**result, "why": f"exit code {done.returncode}: {last_line(done.stderr)}"}
    if not any(folder.glob("*.dcmt")):
        return {**result, "outcome": "refused", "why": last_line(done.stderr)}
    report = subprocess.run([build / "bin" / "dc-memtrace", "report", "--json", folder], capture_output=True, text=True)
    if report.returncode != 0:
        return {**result, "why": f"no report: {last_line(report.stderr)}"}
    traces = json.loads(report.stdout)["traces"]
    result["traces"] = sorted((facts_of(trace) for trace in traces), key=lambda facts: json.dumps(facts))
    off = [item["text"] for trace in traces for item in trace["facts"]["diagnostics"] if item["code"] == "provider_off"]
    lost = sum(trace["facts"]["lost"] for trace in traces)
    if lost:
        off.append(f"{lost} records lost")
    return {**result, "outcome": "partly" if off else "recorded", "why": "; ".join(alone + sorted(set(off)))}


def meet(built_for: Installed, met: Installed, build: pathlib.Path) -> dict:
    """Uses the build for one Python with torch with a job of another one. The job must run as it does without the tool."""
    out = build / "met" / met.name
    providers = build / "lib" / "dcmt"
    as_its_own = [providers / f"torch-{minor(met.torch)}", providers / f"python-{minor(met.cpython)}"]
    kinds = {place: place.name.split("-")[0] for place in as_its_own if not place.exists()}
    for place, kind in kinds.items():
        place.symlink_to(f"{kind}-{minor(built_for.torch if kind == 'torch' else built_for.cpython)}")
    try:
        done = run(build, met, out, ["-c", MEETING])
    finally:
        for place in kinds:
            place.unlink()
    result = {"outcome": "failed", "why": ""}
    if (done.returncode, done.stdout) != (7, "torch.Size([64, 64])\n"):
        return {**result, "why": f"the job was harmed: exit code {done.returncode}, {last_line(done.stderr)}"}
    if not any(out.glob("*.dcmt")):
        return {"outcome": "refused", "why": last_line(done.stderr)}
    report = subprocess.run([build / "bin" / "dc-memtrace", "report", "--json", out], capture_output=True, text=True)
    (trace,) = json.loads(report.stdout)["traces"]
    lacks = [item["text"] for item in trace["facts"]["diagnostics"] if item["code"] == "provider_off"]
    return {"outcome": "partly" if lacks else "recorded", "why": "; ".join(lacks)}


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing was said"
