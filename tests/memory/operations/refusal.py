"""What a caller does when the budget says no."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lowtide as lt


def is_refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except lt.BudgetError:
        return True
    return False


def held(make: Iterable[Any]) -> list[Any]:
    """What there is when the budget says no."""
    kept = []
    try:
        for result in make:
            kept.append(result)
            del result
    except lt.BudgetError:
        return kept
    raise AssertionError(f"held {len(kept)} results and was never refused")
