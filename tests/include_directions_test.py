"""Checks the includes: the directions of the architecture, that no folder includes torch by accident, and no rings.

Runs under pytest and, for the pre-commit hook, as a program that prints the violations and exits with 1.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

FOLDERS = ("trace", "analyzer", "convert", "collector", "render", "cli", "gui", "executor", "samples")

# The most specific prefix of a file decides. A folder may always include itself, and what is listed.
ALLOWED = {
    "trace": (),
    "analyzer": ("trace",),
    "convert": ("analyzer", "trace"),
    "collector": ("collector", "trace"),
    "collector/agent": ("collector/include", "trace"),
    "collector/elf": ("trace/arch",),
    "collector/torch": ("collector/agent", "collector/elf", "collector/include", "trace"),
    "collector/cuda": ("collector/agent", "collector/elf", "collector/include", "trace"),
    "collector/native": ("collector/agent", "collector/elf", "collector/include", "trace"),
    "collector/python": ("collector/agent", "collector/include", "trace"),
    "collector/scan": ("trace",),
    "collector/recorder": ("collector/agent", "collector/include", "collector/scan", "trace"),
    "render/wording": ("analyzer/model", "analyzer/ranks", "analyzer/compare/difference.h", "trace/base"),
    "cli": ("analyzer", "render", "collector/recorder", "collector/scan", "convert", "trace"),
    "render/scene": ("trace/base",),
    "render/load": ("render", "analyzer", "convert", "collector/recorder/folder/run_folder.h", "collector/recorder/folder/local_folder.h",
                 "trace"),
    "gui/models": ("render", "analyzer/model", "analyzer/compare/difference.h", "trace/base"),
    "gui/widgets": ("gui/models", "render", "analyzer/model", "trace/base"),
    "gui/app": ("gui/widgets", "gui/models", "render", "analyzer/model", "analyzer/testing", "trace/base"),
    "gui/bench": ("render", "analyzer", "trace"),
    "executor": ("collector/include",),
    "samples": ("collector/include",),
}

# These are built and run without torch, CUDA and Python, so they must not include any of their headers.
WITHOUT_TORCH = (
    "trace", "analyzer", "convert", "render", "cli", "gui", "collector/agent", "collector/elf", "collector/native", "collector/recorder",
    "collector/scan", "collector/include"
)
FOREIGN = re.compile(r"^(torch/|ATen/|c10/|caffe2/|pybind11/|Python\.h|internal/pycore|frameobject\.h|cuda|cupti|nccl)")

# A scene and its loading are plain C++, and Qt's models of lists need no window.
QT = re.compile(r"^(Q[A-Z]\w*$|Qt\w+/)")
QT_CORE = re.compile(r"^(QtCore/|QAbstract(Item|Table|List)Model|QObject|QString|QVariant|QModelIndex|QByteArray|QMetaObject|QThread|QTimer|QElapsedTimer|QList|QStringList|QSortFilterProxyModel)")
WITHOUT_QT = ("trace", "analyzer", "convert", "render", "cli", "collector", "gui/bench")

# Front ends compute nothing: these files may use the report model, but not the data that it was made of.
FRONT_END = re.compile(r"^cli/(\w+_text|\w+_tables|json_writer|story_program)\.(h|cpp)$")
SHOWN = ("analyzer/model", "analyzer/ranks", "analyzer/replay", "analyzer/generated/linted.h", "analyzer/compare/difference.h",
         "analyzer/gate/verdict.h",
         "render/wording", "trace/base", "cli")
NOT_SHOWN = ("analyzer/model/analysis.h", "cli/inputs.h")

# Folders whose sub-folders depend on each other in one direction only.
WITH_SUB_FOLDERS = ("analyzer", "convert", "collector/recorder", "collector/scan", "collector/torch", "render", "gui")

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def rule_for(path: str) -> str | None:
    """The key of ALLOWED that applies to a file, or None outside of these folders."""
    matches = [folder for folder in ALLOWED if below(path, folder)]
    return max(matches, key=len, default=None)


def violations_in(root: pathlib.Path, path: str) -> list[str]:
    """The errors in the includes of one file. `path` is relative to `root`."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    rule = rule_for(path)
    if rule is None:
        return []
    found = []
    for quote, included in INCLUDE.findall(text):
        if any(below(path, folder) for folder in WITHOUT_TORCH) and FOREIGN.match(included):
            found.append(f"{path}: includes {included}, but {rule} builds without torch, CUDA and Python")
        elif QT.match(included) and (any(below(path, folder) for folder in WITHOUT_QT) or
                                     (below(path, "gui/models") and not QT_CORE.match(included))):
            found.append(f"{path}: includes {included}, but {rule} knows " +
                         ("no window" if below(path, "gui/models") else "no Qt"))
        elif FRONT_END.match(path) and any(below(included, folder) for folder in FOLDERS) and (
                included in NOT_SHOWN or not any(below(included, shown) for shown in SHOWN)):
            found.append(f"{path}: includes {included}, but a face may see the report model only")
        elif any(below(included, folder) for folder in FOLDERS):
            if not any(below(included, allowed) for allowed in (rule, *ALLOWED[rule])):
                others = ", ".join(ALLOWED[rule]) or "itself"
                found.append(f"{path}: includes {included}, but {rule} may include {others} only")
        elif quote == '"' and (root / path).parent.joinpath(included).exists():
            found.append(f"{path}: includes {included}, but includes start at the repository's root")
    return found


def violations_under(root: pathlib.Path) -> list[str]:
    found = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".hpp", ".c", ".cpp", ".cu", ".in") and file.is_file():
                found += violations_in(root, file.relative_to(root).as_posix())
    return found


def rings_in(graph: dict[str, set[str]]) -> list[list[str]]:
    """Each set of nodes of which every one leads to every other, as sorted names; the rings are sorted, too."""
    def reached_from(start: str) -> set[str]:
        reached: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return reached

    reached = {node: reached_from(node) for node in graph}
    rings = {tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
             for node in graph if node in reached[node]}
    return [list(ring) for ring in sorted(rings)]


def unit_of(path: str) -> str:
    """`foo.h` and `foo.cpp` are one unit, "foo". `foo_test.cpp` is another one."""
    return path.rsplit(".", 1)[0]


def units_under(root: pathlib.Path) -> dict[str, set[str]]:
    """Each unit with the other units that one of its files includes."""
    includes: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".c", ".cpp", ".cu") and file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                unit = unit_of(file.relative_to(root).as_posix())
                includes.setdefault(unit, set()).update(unit_of(included) for _, included in INCLUDE.findall(text))
    return {unit: (included & includes.keys()) - {unit} for unit, included in includes.items()}


def sub_folders_of(folder: str, units: dict[str, set[str]]) -> dict[str, set[str]]:
    """Each sub-folder with the other sub-folders that one of its units includes; tests may include any."""
    folders: dict[str, set[str]] = {}
    for unit, included in units.items():
        if below(unit, folder) and not unit.endswith("_test") and "/testing/" not in unit:
            own = unit.rsplit("/", 1)[0]
            others = {name.rsplit("/", 1)[0] for name in included if below(name, folder)}
            folders.setdefault(own, set()).update(others - {own})
    return folders


def rings_under(root: pathlib.Path) -> list[list[str]]:
    """Rings of units, and of the sub-folders of each folder that has some."""
    units = units_under(root)
    graphs = [units, *(sub_folders_of(folder, units) for folder in WITH_SUB_FOLDERS)]
    return [ring for graph in graphs for ring in rings_in(graph)]


def test_no_ring_of_units_or_sub_folders():
    assert rings_under(ROOT) == []


def modules_of(package: pathlib.Path) -> dict[str, set[str]]:
    """Each module of a Python package with the modules of the package that it imports, including imports for types."""
    names = {file.stem for file in package.glob("*.py")}
    modules = {}
    for file in sorted(package.glob("*.py")):
        imported = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                imported |= {node.module} if node.module else {alias.name for alias in node.names}
        modules[file.stem] = imported & names
    return modules


def test_no_ring_of_python_modules():
    modules = modules_of(ROOT / "executor" / "python" / "dcmt_zero3")
    assert any(modules.values())
    assert rings_in(modules) == []


def plant(root: pathlib.Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_planted_rings_are_found(tmp_path):
    plant(tmp_path, {
        "analyzer/load/a.h": '#include "analyzer/time/b.h"\n',
        "analyzer/time/b.h": "",
        "analyzer/time/c.h": '#include "analyzer/load/d.h"\n',
        "analyzer/load/d.h": "",
        "trace/base/e.h": '#include "trace/base/f.h"\n',
        "trace/base/f.h": '#include "trace/base/e.h"\n',
        # No file includes itself by way of others, but each unit needs the other one.
        "collector/torch/foo.h": "",
        "collector/torch/foo.cpp": '#include "collector/torch/foo.h"\n#include "collector/torch/b.h"\n',
        "collector/torch/b.h": "",
        "collector/torch/b.cpp": '#include "collector/torch/b.h"\n#include "collector/torch/foo.h"\n',
    })
    assert rings_under(tmp_path) == [["collector/torch/b", "collector/torch/foo"], ["trace/base/e", "trace/base/f"],
                                     ["analyzer/load", "analyzer/time"]]


def test_a_test_is_a_unit_of_its_own(tmp_path):
    plant(tmp_path, {
        "trace/base/j.h": "",
        "trace/base/j_test.cpp": '#include "trace/base/j.h"\n#include "trace/base/k.h"\n',
        "trace/base/k.h": '#include "trace/base/j.h"\n',
    })
    assert rings_under(tmp_path) == []


def test_every_include_goes_in_an_allowed_direction():
    assert violations_under(ROOT) == []


def table_of_folders() -> list[str]:
    """The rows of CONTRIBUTING's table, from the rules above."""
    rows = []
    for folder, allowed in ALLOWED.items():
        without = ["torch"] * any(below(folder, other) for other in WITHOUT_TORCH)
        without += ["Qt"] * any(below(folder, other) for other in WITHOUT_QT)
        without += ["a window"] * (folder == "gui/models")
        others = ", ".join(f"`{other}`" for other in allowed if other != folder) or "nothing of ours"
        rows.append(f"| `{folder}` | {others} | {', '.join(without)} |")
    return rows


def test_contributing_has_these_directions():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    begin = lines.index("| folder | may include | builds without |") + 2
    assert lines[begin:begin + len(ALLOWED)] == table_of_folders()
    assert lines[begin + len(ALLOWED)] == ""


def test_a_planted_violation_is_found(tmp_path):
    planted = {
        "trace/base/up.h": '#include "analyzer/rules/finding.h"\n',
        "analyzer/sideways.cpp": '#include "collector/recorder/drive/run.h"\n',
        "cli/too_deep.cpp": '#  include "collector/agent/gate.h"\n',
        "collector/agent/torch.cpp": "#include <c10/core/Storage.h>\n",
        "collector/agent/python.cpp": "#include <Python.h>\n",
        "collector/agent/provider_inside.cpp": '#include "collector/torch/records/census.h"\n',
        "collector/cuda/other_provider.cpp": '#include "collector/torch/facts/layout.h"\n',
        "collector/recorder/back.cpp": '#include "cli/main.h"\n',
        "samples/story/inside.cpp": '#include "collector/agent/gate.h"\n',
        "trace/base/near.h": '#include "up.h"\n',
        "cli/sums_text.cpp": '#include "analyzer/releases/releases.h"\n',
        "render/scene/up.h": '#include "render/load/session.h"\n',
        "render/scene/window.cpp": "#include <QtGui/QImage>\n",
        "render/load/text.h": "#include <QString>\n",
        "gui/models/widget.h": "#include <QWidget>\n",
        "gui/models/computes.cpp": '#include "analyzer/releases/releases.h"\n',
        "cli/loads_text.cpp": '#include "analyzer/model/analysis.h"\n',
    }
    plant(tmp_path, planted)
    found = violations_under(tmp_path)
    assert sorted({line.split(":")[0] for line in found}) == sorted(planted)
    assert len(found) == len(planted)


def test_allowed_includes_pass(tmp_path):
    allowed = {
        "trace/base/a.h": '#include "trace/base/status.h"\n#include <vector>\n',
        "analyzer/a.cpp": '#include "analyzer/a.h"\n#include "trace/base/status.h"\n#include <fmt/format.h>\n',
        "cli/a_text.cpp": '#include "analyzer/model/report.h"\n#include "trace/base/code_path.h"\n',
        "cli/a.cpp": '#include "analyzer/a.h"\n#include "collector/recorder/drive/run.h"\n#include "trace/base/status.h"\n',
        "collector/agent/a.cpp": '#include "collector/agent/a.h"\n#include "trace/wire/records.h"\n',
        "collector/torch/a.cpp": '#include "collector/agent/provider.h"\n#include <torch/library.h>\n',
        "render/load/a.h": '#include "analyzer/model/report.h"\n#include "render/scene/curve.h"\n',
        "gui/models/a.h": '#include <QAbstractTableModel>\n#include "render/load/session.h"\n',
        "gui/app/a.cpp": '#include <QApplication>\n#include "gui/widgets/a.h"\n',
        "samples/story/a.cpp": '#include "collector/include/dcmt/marks.h"\n#include <torch/torch.h>\n',
    }
    plant(tmp_path, allowed)
    assert violations_under(tmp_path) == []


if __name__ == "__main__":
    lines = violations_under(ROOT) + [f"a ring: {', '.join(ring)}" for ring in rings_under(ROOT)]
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
