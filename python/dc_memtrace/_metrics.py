"""The figures of `peak()` for Prometheus and OpenTelemetry: one name for each figure, with the device as a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dc_memtrace._peak import peak

_HELP = {
    "allocated_bytes": "Bytes that torch has allocated on the device.",
    "peak_allocated_bytes": "The most bytes that torch had allocated on the device.",
    "reserved_bytes": "Bytes that torch's allocator has reserved on the GPU.",
    "peak_reserved_bytes": "The most bytes that torch's allocator had reserved on the GPU.",
    "resident_bytes": "Bytes of the process in memory.",
    "peak_resident_bytes": "The most bytes of the process in memory.",
}


def _values(name: str) -> list[tuple[str | None, int]]:
    """Pairs of device and bytes; the process has no device."""
    found = []
    for key, value in peak().items():
        device, _, figure = key.partition("/")
        if figure == name:
            found.append((None if device == "process" else device, value))
    return found


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def prometheus(labels: Mapping[str, object] | None = None) -> str:
    """The figures of `peak()` in Prometheus's text format: gauges such as `dc_memtrace_allocated_bytes{device="cuda:0"}`.

    Serve it beside your own metrics, or write it to a file of node_exporter's textfile collector. It needs no recording and no
    other package.

    labels: for every line, such as {"rank": 3}. Raises ValueError for a name that Prometheus does not allow.
    """
    own = dict(labels or {})
    for name in own:
        if not (name.isascii() and name.isidentifier()) or name.startswith("__") or name == "device":
            raise ValueError(f"{name!r} is no name of a label")
    lines = []
    for name, text in _HELP.items():
        values = _values(name)
        if not values:
            continue
        lines += [f"# HELP dc_memtrace_{name} {text}", f"# TYPE dc_memtrace_{name} gauge"]
        for device, value in values:
            all_labels = own if device is None else {"device": device, **own}
            shown = ",".join(f'{label}="{_escaped(each)}"' for label, each in all_labels.items())
            lines.append(f"dc_memtrace_{name}{{{shown}}} {value}" if shown else f"dc_memtrace_{name} {value}")
    return "".join(line + "\n" for line in lines)


def opentelemetry(meter: Any, attributes: Mapping[str, Any] | None = None) -> None:
    """Adds the figures of `peak()` to an OpenTelemetry meter: observable gauges such as `dc_memtrace.allocated_bytes`.

    meter: of the program's own provider (`opentelemetry.metrics.get_meter("training")`). attributes: of every value; the device
    is one of them.
    """
    from opentelemetry.metrics import Observation

    def observer(name: str) -> Any:
        def observe(_options: Any) -> list[Any]:
            return [
                Observation(value, {**({} if device is None else {"device": device}), **(attributes or {})})
                for device, value in _values(name)
            ]

        return observe

    for name, text in _HELP.items():
        meter.create_observable_gauge(f"dc_memtrace.{name}", callbacks=[observer(name)], unit="By", description=text)
