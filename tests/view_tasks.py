"""Twelve tasks in the viewer as a person does them: a real window under Xvfb with a window manager, real clicks and keys.

Each task begins with a window that has just opened, and is done twice, by mouse and by keyboard; by mouse it may take two
clicks. What came of it is read from the window's own log and compared with `report --json` and `show --json`.

Usage: view_tasks.py VIEWER TOOL GROWING EARLIER RANKS PICTURES
    GROWING, EARLIER  traces of samples/growing_list, EARLIER with --numbers; RANKS: a folder with the two as ranks
    PICTURES          a folder, into which a picture of the end of each task is written
Needs Xvfb, openbox and xdotool.
"""

from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

SIZE = (1600, 1000)
MOST_CLICKS = 2
PATIENCE = 20  # seconds


def png(path: pathlib.Path, screen: bytes) -> None:
    """Of an X window dump with 32 bits a pixel."""
    header = struct.unpack(">25I", screen[:100])
    size, width, height, line, colors = header[0], header[4], header[5], header[12], header[19]
    data = screen[size + 12 * colors:]
    rows = bytearray()
    for y in range(height):
        row = data[y * line:y * line + width * 4]
        pixels = bytearray(width * 3)
        pixels[0::3], pixels[1::3], pixels[2::3] = row[2::4], row[1::4], row[0::4]
        rows += b"\0" + pixels
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(bytes(rows), 6)) + chunk(b"IEND", b""))


class Display:
    def __init__(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24",
                                        "-fbdir", str(self.folder), "-nolisten", "tcp"], pass_fds=(write,),
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        self.name = ":" + os.read(read, 16).decode().strip()
        # Settings of its own, and no platform that somebody set: the window is a real one.
        self.environment = {**os.environ, "DISPLAY": self.name, "QT_QPA_PLATFORM": "xcb", "XDG_CONFIG_HOME": str(self.folder)}
        self.manager = subprocess.Popen(["openbox"], env=self.environment, stderr=subprocess.DEVNULL)

    def do(self, *words: object) -> str:
        return subprocess.run(["xdotool", *map(str, words)], env=self.environment, capture_output=True, text=True, check=True).stdout

    def picture(self, path: pathlib.Path) -> None:
        png(path, (self.folder / "Xvfb_screen0").read_bytes())

    def close(self) -> None:
        self.manager.terminate()
        self.server.terminate()
        self.manager.wait()
        self.server.wait()


class Window:
    """A viewer that has opened a trace."""

    def __init__(self, display: Display, viewer: str, *words: object) -> None:
        self.display, self.clicks, self.keys = display, 0, 0
        self.log = display.folder / "log"
        self.log.unlink(missing_ok=True)
        self.process = subprocess.Popen([viewer, "--log", self.log, *map(str, words)], env=display.environment,
                                        stderr=subprocess.DEVNULL)
        self.wait(lambda at: at.get("storage") or at.get("finding"), "open")
        time.sleep(0.5)  # the window manager places it
        self.display.do("mousemove", 5, SIZE[1] - 5)
        self.display.do("search", "--onlyvisible", "--name", "dc-memtrace", "windowfocus", "--sync")

    def now(self) -> dict:
        lines = self.log.read_bytes().splitlines() if self.log.exists() else []
        for line in reversed(lines):
            try:
                return json.loads(line)
            except ValueError:
                continue  # not yet whole
        return {}

    def wait(self, wanted, what: str) -> dict:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            at = self.now()
            if at and wanted(at):
                return at
            time.sleep(0.05)
        at = self.now()
        raise AssertionError(f"{what}: not so. message {at.get('message')!r}, seen {at.get('seen')}, places {sorted(at.get('places', {}))}")

    def click(self, place: str, *, double: bool = False) -> None:
        at = self.wait(lambda line: place in line["places"], f"no place '{place}'")["places"][place]
        self.display.do("mousemove", *at)
        time.sleep(0.1)
        self.display.do("click", *(("--repeat", 2, "--delay", 60) if double else ()), 1)
        self.clicks += 1
        time.sleep(0.2)

    def key(self, *keys: str) -> None:
        for key in keys:
            self.display.do("key", "--clearmodifiers", key)
            self.keys += 1
            time.sleep(0.1)

    def type(self, text: str) -> None:
        self.display.do("type", "--delay", 15, text)
        self.key("Return")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def of_json(tool: str, *words: object) -> dict:
    (trace,) = json.loads(subprocess.run([tool, *map(str, words), "--json"], capture_output=True, text=True, check=True).stdout)["traces"]
    return trace


def grouped(value: int) -> str:
    return f"{value:,} B"


def cells(line: dict, table: str) -> str:
    return json.dumps(line["tables"].get(table, []), ensure_ascii=False)


class Tasks:
    def __init__(self, tool: str, growing: pathlib.Path, earlier: pathlib.Path, ranks: pathlib.Path) -> None:
        report = of_json(tool, "report", growing)
        self.growing, self.earlier, self.ranks = growing, earlier, ranks
        self.device = report["devices"][0]
        self.finding = report["findings"][0]
        self.holders = of_json(tool, "show", "live", growing, "--at", "peak")["by_holder"]

    def all(self):
        """Name, what is opened, by mouse, by keyboard, what is so afterwards."""
        trace = (self.growing,)
        peak = grouped(self.device["bytes"])
        with_panel = lambda name: lambda at: name in at["seen"]  # noqa: E731
        yield ("which finding keeps most (Q1)", trace, lambda w: None, lambda w: None,
               lambda at: at["finding"] == 1 and self.finding["title"].upper() in cells(at, "Findings"))
        yield ("who holds it (Q3)", trace, lambda w: w.click("tab Holders"), lambda w: w.key("8"), with_panel("Holders"))
        yield ("the peak without it (Q17)", trace, lambda w: w.click("tick Findings 0"), lambda w: w.key("x"),
               lambda at: at["without"] == self.device["bytes"] and peak in at["message"])
        yield ("what is alive at the peak, by holder (Q25)", trace,
               lambda w: (w.click("box Live set by"), w.click("choice holder")),
               lambda w: (w.key("4", "shift+Tab"), w.key("h", "Return")),
               lambda at: grouped(self.holders[0]["bytes"]) in cells(at, "Live set") and self.holders[0]["name"] in cells(at, "Live set"))
        def another_bar(w: Window) -> None:
            w.click(next(name for name in w.now()["places"] if name.startswith("bar ") and name != f"bar {w.now()['storage']}"))
        yield ("the story of a storage (Q2)", trace, another_bar, lambda w: w.key("n", "period"),
               lambda at: at["storage"] > 0 and "allocated" in cells(at, "Story"))
        yield ("its story on one axis (Q16)", trace, lambda w: w.click("tab On one axis"), lambda w: w.key("shift+5"), with_panel("On one axis"))
        yield ("what became of each release (Q22)", trace, lambda w: w.click("tab Releases"), lambda w: w.key("9"), with_panel("Releases"))
        yield ("what outlives its step (Q45)", trace, lambda w: w.click("tab Survivors"), lambda w: w.key("shift+1"),
               lambda at: "Survivors" in at["seen"] and len(at["tables"].get("Survivors", [])) > 0)
        yield ("where the gaps between blocks are (Q61)", trace, lambda w: w.click("tab Addresses"), lambda w: w.key("shift+6"),
               lambda at: "Addresses" in at["seen"] and any(name.startswith("block ") for name in at["places"]))
        def other_rank(w: Window) -> None:
            w.click("rank 1")
        yield ("which rank differs (Q62)", (self.ranks,), other_rank, lambda w: w.key("r"),
               lambda at: "rank1" in at["link"] and "Ranks" in at["seen"])
        def compare(w: Window) -> None:
            w.click("menu File")
            w.click("menu Compare with an earlier trace …")
            time.sleep(0.5)
            w.type(str(self.earlier))
        def compare_by_key(w: Window) -> None:
            w.key("ctrl+d")
            time.sleep(0.5)
            w.type(str(self.earlier))
        yield ("what came since the last run (Q15)", trace, compare, compare_by_key,
               lambda at: "Comparison" in at["seen"] and len(at["tables"].get("What explains it", [])) > 0)
        def find(w: Window) -> None:
            w.click("menu Go")
            w.click("menu Find an operator, a source line or a storage …")
            time.sleep(0.3)
            w.type("pow")
        def find_by_key(w: Window) -> None:
            w.key("ctrl+f")
            time.sleep(0.3)
            w.type("pow")
        yield ("an operator by its name (Q7)", trace, find, find_by_key, lambda at: "match 1 of" in at["message"])
        def another_point(w: Window) -> None:
            w.click("curve")
        yield ("what was alive at another point (Q26)", trace, another_point, lambda w: (w.key("g"), time.sleep(0.3), w.type("step:1")),
               lambda at: at["point"] != self.device["at"]["seq"] and len(at["tables"].get("Live set", [])) > 0)
        yield ("what was recorded, what is missing (Q30)", trace, lambda w: w.click("tab Run"), lambda w: w.key("shift+3"), with_panel("Run"))


def main() -> int:
    viewer, tool = sys.argv[1:3]
    growing, earlier, ranks, pictures = map(pathlib.Path, sys.argv[3:])
    pictures.mkdir(parents=True, exist_ok=True)
    tasks = Tasks(tool, growing, earlier, ranks)
    display = Display()
    failed = count = 0
    try:
        for name, opened, by_mouse, by_keyboard, wanted in tasks.all():
            for way, act in (("mouse", by_mouse), ("keys", by_keyboard)):
                window = Window(display, viewer, "--size", f"{SIZE[0]}x{SIZE[1] - 40}", *opened)
                outcome = "ok"
                try:
                    act(window)
                    window.wait(wanted, name)
                    if way == "keys":
                        assert window.clicks == 0
                    assert window.clicks <= MOST_CLICKS, f"{window.clicks} clicks"
                except (AssertionError, subprocess.CalledProcessError) as why:
                    outcome = f"FAILED: {why}"
                    failed += 1
                time.sleep(0.3)
                display.picture(pictures / f"{count:02d}_{way}.png")
                window.close()
                print(f"{count:2d} {name:45s} {way:6s} {window.clicks} clicks {window.keys:2d} keys  {outcome}", flush=True)
            count += 1
    finally:
        display.close()
    print(f"{count} tasks by mouse and by keyboard, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
