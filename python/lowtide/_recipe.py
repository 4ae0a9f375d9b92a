"""How an array was made, so that another process can make it again: from a file, from memory, by a call of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import _core, _dtypes
from ._identity import Opened, identity, open_again
from .errors import UnsupportedError

Step: TypeAlias = tuple[str, Any]  # a method of _core.Array and its argument
LARGEST_PICKLED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class FromFile:
    """What _core.open takes, then the steps of a view of it; None where an index was too large to be kept."""

    core: _core.Array
    opened: Opened
    steps: tuple[Step, ...] | None = ()


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """An ndarray, and the name that the core has for its dtype. `owned` where nobody else can change it."""

    array: np.ndarray[Any, Any]
    name: str
    owned: bool


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A function of the core, or a method of its arrays, and what it was given; None where that could not be kept."""

    function: str
    arguments: tuple[Any, ...] | None


Recipe: TypeAlias = FromFile | InMemory | Made


@dataclass(frozen=True)
class _Earlier:
    """In a list of recipes: the array that the one at a place made."""

    place: int


def leaves(recipe: Recipe) -> Iterator[FromFile | InMemory]:
    """What an array is read from."""
    for made in _in_order(recipe):
        if not isinstance(made, Made):
            yield made


def written(recipe: Recipe) -> list[Any]:
    """A list to pickle: each entry needs only those before it."""
    places: dict[int, int] = {}
    entries: list[Any] = []
    for made in _in_order(recipe):
        places[id(made)] = len(entries)
        entries.append(_entry(made, places))
    return entries


def read_again(entries: list[Any]) -> list[tuple[_core.Array, Recipe]]:
    """The arrays of a list that `written` gave, in this process."""
    made: list[tuple[_core.Array, Recipe]] = []
    for kind, *what in entries:
        made.append(_made(kind, what, made))
    return made


def _in_order(recipe: Recipe) -> Iterator[Recipe]:
    """Everything that a recipe needs, then itself; each once. A loop: chains may be longer than Python's stack."""
    seen: set[int] = set()
    waiting: list[tuple[Recipe, bool]] = [(recipe, False)]
    while waiting:
        made, ready = waiting.pop()
        if ready:
            yield made
        elif id(made) not in seen:
            seen.add(id(made))
            waiting.append((made, True))
            if isinstance(made, Made):
                waiting.extend((part, False) for part in _parts(made.arguments or ()))


def _parts(arguments: Any) -> Iterator[Recipe]:
    for argument in arguments:
        if isinstance(argument, FromFile | InMemory | Made):
            yield argument
        elif isinstance(argument, list):
            yield from _parts(argument)


def _entry(made: Recipe, places: dict[int, int]) -> tuple[Any, ...]:
    if isinstance(made, FromFile):
        _kept(made.steps)
        return ("file", made.opened, identity(made.core), made.steps)
    if isinstance(made, InMemory):
        if made.array.nbytes > LARGEST_PICKLED_BYTES:
            raise UnsupportedError(
                f"an array made of {_core.format_bytes(made.array.nbytes)} in memory is not pickled (at most "
                f"{_core.format_bytes(LARGEST_PICKLED_BYTES)} are): lt.save(path, x) it, and use lt.open(path) there"
            )
        return ("memory", np.asarray(made.array), made.name)
    return (made.function, *(_replaced(part, places) for part in _kept(made.arguments)))


def _kept(arguments: tuple[Any, ...] | None) -> tuple[Any, ...]:
    if arguments is None:
        raise TypeError(
            "an array indexed by an array that had no room in the budget cannot be pickled: "
            "pickle what it came from, and index that again"
        )
    return arguments


def _replaced(argument: Any, places: dict[int, int]) -> Any:
    if isinstance(argument, FromFile | InMemory | Made):
        return _Earlier(places[id(argument)])
    return [_replaced(part, places) for part in argument] if isinstance(argument, list) else argument


def _made(kind: str, what: list[Any], before: list[tuple[_core.Array, Recipe]]) -> tuple[_core.Array, Recipe]:
    if kind == "file":
        opened, expected, steps = what
        core = open_again(opened, expected)
        for method, argument in steps:
            core = getattr(core, method)(argument)
        return core, FromFile(core, opened, steps)
    if kind == "memory":
        array, name = what
        return _core.from_memory(array, name), InMemory(array, name, True)
    cores = [_looked_up(argument, before, 0) for argument in what]
    recipes = tuple(_looked_up(argument, before, 1) for argument in what)
    return called(kind, cores), Made(kind, recipes)


def in_core(function: str) -> Callable[..., Any]:
    """A function of the core, if this build has it."""
    found: Callable[..., Any] | None = getattr(_core, function, None)
    if found is None:
        raise UnsupportedError(f"{function} is not there yet: a.compute() where the elements fit, or a.blocks()")
    return found


def called(function: str, arguments: list[Any]) -> _core.Array:
    """The array that the core makes."""
    if function in ("index", "transpose"):
        made: _core.Array = getattr(arguments[0], function)(*arguments[1:])
    else:
        made = in_core(function)(*arguments)
    return made


def _looked_up(argument: Any, before: list[tuple[_core.Array, Recipe]], which: int) -> Any:
    if isinstance(argument, _Earlier):
        return before[argument.place][which]
    return [_looked_up(part, before, which) for part in argument] if isinstance(argument, list) else argument


def memory(values: np.ndarray[Any, Any], *, owned: bool) -> tuple[_core.Array, InMemory]:
    """An ndarray as the core has it. It is not copied."""
    array, name = _dtypes.as_values(values)
    return _core.from_memory(array, name), InMemory(array, name, owned)
