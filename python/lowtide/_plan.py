"""What a computation would take, told before it runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from . import _core
from ._recipe import in_core


@dataclass(frozen=True)
class Plan:
    """What ``a.explain()`` gives: budget, bytes, and the passes over the inputs, each with its program."""

    least_bytes: int  #: the smallest budget in which ``compute`` runs
    stream_bytes: int  #: the smallest in which ``lt.save`` and ``blocks`` do
    peak_bytes: int  #: what ``compute`` takes where the budget allows it
    read_bytes: int
    result_bytes: int
    passes: list[dict[str, Any]]

    @classmethod
    def of(cls, cores: Sequence[_core.Array]) -> Plan:
        """The plan of computing arrays together."""
        told = json.loads(in_core("explain")(list(cores)))
        return cls(**{field.name: told[field.name] for field in fields(cls)})

    def __str__(self) -> str:
        size = _core.format_bytes
        lines = [
            f"{len(self.passes)} {'pass' if len(self.passes) == 1 else 'passes'}, reads {size(self.read_bytes)}; "
            f"compute() gives {size(self.result_bytes)} and takes {size(self.peak_bytes)}, "
            f"{size(self.least_bytes)} at least; save() and blocks() take {size(self.stream_bytes)} at least"
        ]
        for number, step in enumerate(self.passes, 1):
            reads = ", ".join(dict.fromkeys(step["reads"])) or "nothing"
            lines.append(f"{number}. {step['what']} over {tuple(step['space'])}: {size(step['read_bytes'])} of {reads}")
            lines.extend(f"     {line}" for line in step["program"])
        return "\n".join(lines)
