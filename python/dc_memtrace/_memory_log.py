"""Memory figures for the log of a training: those of `peak()`, and the growth per step."""

from __future__ import annotations

from dc_memtrace._peak import peak

_NOW = ("allocated_bytes", "resident_bytes")


class MemoryLog:
    """Counts from its first call on. By then, a training has made its optimizer's state and warmed up its caches."""

    def __init__(self) -> None:
        self._first: tuple[int, dict[str, int]] | None = None

    def figures(self, step: int) -> dict[str, float]:
        """"memory/cpu/peak_allocated_bytes" and so on. From the second call on also "memory/cpu/allocated_bytes_a_step": how
        many bytes each step has added since the first call.
        """
        now = peak()
        found: dict[str, float] = {f"memory/{name}": value for name, value in now.items()}
        if self._first is None:
            self._first = step, now
        steps = step - self._first[0]
        for name, before in self._first[1].items():
            if steps > 0 and name in now and name.endswith(_NOW) and "peak" not in name:
                found[f"memory/{name}_a_step"] = (now[name] - before) / steps
        return found
