"""What an lt.Array says of itself. Nothing is computed for it."""

from __future__ import annotations

import html as _html
from typing import TYPE_CHECKING

from . import _core
from ._recipe import FromFile, Made, Recipe, leaves

if TYPE_CHECKING:
    from .array import Array

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_NAMED = 3  # files that are named; the others are counted


def facts(array: Array) -> list[tuple[str, str]]:
    """Name and value of what is worth knowing."""
    core = array._core
    size = [("shape", str(array.shape)), ("dtype", core.dtype), ("bytes", _core.format_bytes(array.nbytes))]
    needs = [
        ("least budget", _core.format_bytes(core.least_budget)),
        ("read whole in", _core.format_bytes(array.nbytes + (2 << 20))),
    ]
    if not core.is_file:
        return [("is", made_of(array._recipe)), *size, *needs]
    order = {"C": "C order", "F": "Fortran order"}[core.order]
    stored = f"{core.format}, {order}{', big-endian' if core.big_endian else ''}"
    return [("file", array.path), *size, ("stored as", stored), ("IO", core.io_mode), *needs]


def text(array: Array) -> str:
    """For repr."""
    known = dict(facts(array))
    start = f"<lowtide.Array {array.shape} {known['dtype']}, {known['bytes']}"
    if array._core.is_file:
        return f"{start}, {known['stored as']}, {array.path!r}>"
    return f"{start}, {known['is']}, least budget {known['least budget']}>"


def html(array: Array) -> str:
    """For notebooks."""
    left = "style='text-align:left'"
    rows = "".join(
        f"<tr><th {left}>{_html.escape(key)}</th><td {left}>{_html.escape(value)}</td></tr>"
        for key, value in facts(array)
    )
    return f"<table><caption>lowtide.Array</caption>{rows}</table>"


def made_of(recipe: Recipe) -> str:
    """The last operation, and what the array is read from."""
    paths: dict[str, None] = {}
    memory = 0
    for leaf in leaves(recipe):
        if isinstance(leaf, FromFile):
            paths[str(leaf.opened[0])] = None
        else:
            memory += leaf.array.nbytes
    named = [repr(path) for path in list(paths)[:_NAMED]]
    if len(paths) > _NAMED:
        named.append(f"{len(paths) - _NAMED} more files")
    if memory:
        named.append(f"{_core.format_bytes(memory)} of memory")
    if not isinstance(recipe, Made):
        return "in memory"
    return f"{_last(recipe)} of {', '.join(named)}" if named else f"computed by {_last(recipe)}"


def _last(recipe: Made) -> str:
    if recipe.function in ("elementwise", "reduce", "random") and recipe.arguments:
        return str(recipe.arguments[0])
    if recipe.function == "cumulative" and recipe.arguments:
        return f"cumulative_{recipe.arguments[0]}"
    return {"index": "a part"}.get(recipe.function, recipe.function)
