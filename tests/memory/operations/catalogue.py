"""Where every operation is registered, under the name of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case

Steps = Iterator[Any]
Expect = Callable[[Case, "np.ndarray[Any, Any]"], Any]


@dataclass(frozen=True)
class Operation:
    name: str
    steps: Callable[[Case], Steps]
    expect: Expect
    result: str  # where it is: "yields", or the file "output" or "target"


CATALOGUE: dict[str, Operation] = {}


def operation(expect: Expect, result: str = "yields") -> Callable[[Callable[[Case], Steps]], Callable[[Case], Steps]]:
    def add(steps: Callable[[Case], Steps]) -> Callable[[Case], Steps]:
        CATALOGUE[steps.__name__] = Operation(steps.__name__, steps, expect, result)
        return steps

    return add
