"""Who holds what grew: the container, its name, and the line that fills it."""

from __future__ import annotations

import dis
import gc
import os
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import _lru_cache_wrapper
from itertools import chain, groupby, starmap
from typing import Any

LOOKED_AT = 24  # entries of a container whose size is estimated
DESCRIBED = 6
PATH_DEPTH = 5
FILLING = {"append", "extend", "add", "update", "insert", "appendleft", "setdefault", "put", "put_nowait", "register"}
OWN = os.path.dirname(os.path.abspath(__file__))

Storage = Callable[[Any], "tuple[int, int, int] | None"]


_NOT_TUPLES: Callable[..., Any] = {tuple: ()}.get  # (type, objects of it) → the objects, or nothing


def without_tuples(function: Callable[..., list[Any]], *arguments: Any) -> list[Any]:
    """What a function of the garbage collector lists, but for tuples.

    A tuple that is being filled may have one owner only, and the collector knows it already: whoever else holds it
    while the program goes on makes the program fail. So the list with tuples must be gone before any other thread can
    run, that is, without a line of Python in between: list() drives all of this in C.
    """
    listed = chain.from_iterable(starmap(function, [arguments]))
    return list(chain.from_iterable(starmap(_NOT_TUPLES, groupby(listed, type))))


def tracked_objects() -> list[Any]:
    """What the garbage collector knows, but for tuples; the list holds itself, so clear() it when done."""
    return without_tuples(gc.get_objects)


def running_frames() -> list[types.FrameType]:
    """Every frame of every thread, but for the doctor's own."""
    frames = []
    for top in sys._current_frames().values():
        frame: types.FrameType | None = top
        while frame is not None:
            if not frame.f_code.co_filename.startswith(OWN):
                frames.append(frame)
            frame = frame.f_back
    return frames


def cache_sizes(objects: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """(identity, entries) of each lru_cache and deque."""
    for obj in objects:
        if type(obj) is deque:
            yield id(obj), len(obj)
        elif type(obj) is _lru_cache_wrapper:
            yield id(obj), obj.cache_info().currsize


def definition_of(kind: type) -> str:
    """file:line of a class of the user's."""
    for member in vars(kind).values():
        code = getattr(member, "__code__", None)
        if code is not None:
            return f"{short(code.co_filename)}:{code.co_firstlineno} class {kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def short(path: str) -> str:
    return os.path.basename(path)


def describe(grown: dict[int, int], storage_of: Storage, untracked: list[dict[Any, Any]]) -> list[dict[str, Any]]:
    """The holders among these containers (identity → entries more), with names and lines."""
    if not grown:
        return []
    everything = tracked_objects()
    found = [obj for obj in everything if id(obj) in grown and obj is not everything]
    everything.clear()
    found.extend(obj for obj in untracked if id(obj) in grown)
    sized = []
    for obj in found:
        if isinstance(obj, dict) and "__name__" in obj and "__loader__" in obj:  # a module's names
            continue
        size, note = entry_bytes(obj, storage_of)
        total = int(size * grown[id(obj)])
        if total >= 1 << 18 or note == "autograd graph":
            sized.append((total, note, obj))
    sized.sort(key=lambda item: -item[0])
    ignored = {id(found), id(sized), id(grown), id(untracked), *map(id, sized)}
    result = []
    for total, note, obj in sized[:DESCRIBED]:
        where, of = name_of(obj, ignored)
        if where is None:  # the collector's own lists, and the doctor's
            continue
        kind = type(obj).__name__
        result.append({"type": of or kind, "count": grown[id(obj)], "bytes": total, "where": where, "note": note})
    return result


def entries(obj: Any) -> list[Any]:
    """Some of the newest entries of a container."""
    try:
        if isinstance(obj, dict):
            return list(obj.values())[-LOOKED_AT:]
        if isinstance(obj, (list, tuple)):
            return list(obj[-LOOKED_AT:])
        if isinstance(obj, deque):
            return [obj[-1 - i] for i in range(min(LOOKED_AT, len(obj)))]
        if type(obj) is _lru_cache_wrapper:
            return [part for part in gc.get_referents(obj) if isinstance(part, dict)][:1]
        return [entry for entry, _ in zip(obj, range(LOOKED_AT), strict=False)]
    except (RuntimeError, IndexError):  # it changed meanwhile
        return []


def entry_bytes(obj: Any, storage_of: Storage) -> tuple[float, str]:
    """Bytes of one entry, on average, and what stands out about it."""
    sample = entries(obj)
    if not sample:
        return 0.0, ""
    if type(obj) is _lru_cache_wrapper:
        inner, _ = entry_bytes(sample[0], storage_of)
        return max(inner, 64.0), "lru_cache"
    notes: list[str] = []
    seen: set[int] = set()
    total = 0
    for entry in sample:
        total += deep_bytes(entry, storage_of, seen, notes)
    return total / len(sample), notes[0] if notes else ""


def deep_bytes(entry: Any, storage_of: Storage, seen: set[int], notes: list[str]) -> int:
    """What an entry keeps alive, as far as a short walk shows."""
    total, steps = 0, 0
    queue = [entry]
    while queue and steps < 300:
        obj = queue.pop()
        if id(obj) in seen or isinstance(obj, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)):
            continue
        seen.add(id(obj))
        steps += 1
        found = storage_of(obj)
        if found is not None:
            key, whole, view = found
            if getattr(obj, "grad_fn", None) is not None:
                notes.append("autograd graph")
            elif whole > 4 * view and whole > 1 << 16:
                notes.append("view of a large base")
            if -key not in seen:  # apart from the identities of objects: an array is its own storage
                seen.add(-key)
                total += whole
            continue
        if isinstance(obj, types.FrameType):
            queue.extend(obj.f_locals.values())
            continue
        if isinstance(obj, BaseException):
            notes.append("traceback keeps frames")
            trace = obj.__traceback__
            while trace is not None:
                queue.append(trace.tb_frame)
                trace = trace.tb_next
        if isinstance(obj, types.TracebackType):
            continue
        total += sys.getsizeof(obj, 64)
        if not isinstance(obj, (str, bytes, int, float)):
            queue.extend(gc.get_referents(obj)[:200])
    return total


# Names


def name_of(obj: Any, ignored: set[int]) -> tuple[str | None, str]:
    """("train.py:88 list 'losses'", type of what it belongs to); (None, "") for what belongs to nobody that counts."""
    if type(obj) is _lru_cache_wrapper:
        code = getattr(getattr(obj, "__wrapped__", None), "__code__", None)
        place = f"{short(code.co_filename)}:{code.co_firstlineno} " if code is not None else ""
        return f"{place}lru_cache of {getattr(obj, '__name__', '?')}", "lru_cache"
    path: list[str] = []
    at = obj
    mine = {id(path), *ignored}
    for _ in range(PATH_DEPTH):
        label, owner = one_step(at, mine)
        if label is None:
            break
        path.append(label)
        if owner is None:
            return with_kind(obj, path), ""
        mine.add(id(at))
        at = owner
    if not path:
        return None, ""
    return with_kind(obj, path), ""


def with_kind(obj: Any, path: list[str]) -> str:
    first = path[0]
    kind = type(obj).__name__
    if ":" in first and " " in first:
        place, _, name = first.partition(" ")
        text = f"{place} {kind} {name}"
    else:
        text = f"{kind} {first}"
    return " ← ".join([text, *path[1:]])


def one_step(obj: Any, mine: set[int]) -> tuple[str | None, Any]:
    """How the nearest holder calls `obj`, and that holder where the way up goes on; (None, None) without one."""
    fallback: tuple[str | None, Any] = (None, None)
    for frame in running_frames():
        if frame.f_locals is frame.f_globals:
            continue
        for name, value in frame.f_locals.items():
            if value is obj:
                return f"{place(frame.f_code, name)} '{name}'", None
    for holder in without_tuples(gc.get_referrers, obj):
        if id(holder) in mine or isinstance(holder, types.FrameType):
            continue
        if isinstance(holder, dict):
            name = key_of(holder, obj)
            if not isinstance(name, str):
                fallback = ("in a dict", holder)
                continue
            if ("__name__" in holder and "__builtins__" in holder) or "__spec__" in holder:
                return f"{module_place(holder, name)} '{name}'", None
            owner = owner_of(holder)
            if owner is not None:
                return f"{attribute_place(owner, name)} '{type(owner).__name__}.{name}'", None
            fallback = (f"[{name!r}]", holder)
        elif isinstance(holder, (list, tuple, set, deque)):
            if not isinstance(holder, list) or len(holder) < 100_000:
                fallback = (f"in a {type(holder).__name__}", holder)
        elif type(holder) is _lru_cache_wrapper:
            return None, None  # which is a holder itself
        elif isinstance(holder, types.CellType):
            return closure_name(holder), None
        elif not isinstance(holder, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            attribute = attribute_name(holder, obj)
            if attribute is not None:
                return f"{attribute_place(holder, attribute)} '{type(holder).__name__}.{attribute}'", None
    return fallback


def owner_of(attributes: dict[str, Any]) -> Any:
    """The object whose __dict__ this is."""
    for holder in without_tuples(gc.get_referrers, attributes):
        if getattr(holder, "__dict__", None) is attributes and not isinstance(holder, types.ModuleType):
            return holder
    return None


def attribute_name(holder: Any, obj: Any) -> str | None:
    try:
        names = vars(holder)
    except TypeError:
        names = {name: getattr(holder, name, None) for name in getattr(type(holder), "__slots__", ())}
    found = key_of(names, obj)
    return found if isinstance(found, str) else None


# A loop: a generator expression would hold `obj` in a cell, and be found as its holder.
def key_of(table: Any, obj: Any) -> Any:
    for key, value in list(table.items()):
        if value is obj:
            return key
    return None


def closure_name(cell: types.CellType) -> str:
    known = tracked_objects()
    functions = [obj for obj in known if isinstance(obj, types.FunctionType) and obj.__closure__]
    known.clear()
    for function in functions:
        for name, entry in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if entry is cell:
                return f"{place(function.__code__, name)} '{name}'"
    return "a closure"


# Lines


def filling_line(code: types.CodeType, name: str) -> int | None:
    """The line that puts something into `name`: name.append(…), name[…] = …; None where there is none in this code."""
    instructions = list(dis.get_instructions(code))
    line, at_line = None, code.co_firstlineno
    for i, step in enumerate(instructions):
        if isinstance(step.starts_line, int) and not isinstance(step.starts_line, bool):
            at_line = step.starts_line
        elif getattr(step, "line_number", None):
            at_line = step.line_number  # type: ignore[attr-defined]
        if step.argval != name:
            continue
        after = instructions[i + 1 : i + 4]
        if any(
            str(later.argval) in FILLING for later in after if later.opname.startswith(("LOAD_METHOD", "LOAD_ATTR"))
        ):
            return at_line
        same_line = instructions[i + 1 : i + 14]
        if any(later.opname == "STORE_SUBSCR" for later in same_line):
            line = line or at_line
    return line


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def place(code: types.CodeType, name: str) -> str:
    for part in nested(code):
        if (line := filling_line(part, name)) is not None:
            return f"{short(part.co_filename)}:{line}"
    return f"{short(code.co_filename)}:{code.co_firstlineno}"


def codes_of(values: Iterable[Any]) -> Iterator[types.CodeType]:
    for value in values:
        value = getattr(value, "__func__", getattr(value, "__wrapped__", value))
        if isinstance(value, types.FunctionType):
            yield from nested(value.__code__)
        elif isinstance(value, type):
            yield from codes_of([member for member in vars(value).values() if isinstance(member, types.FunctionType)])


def module_place(names: dict[str, Any], name: str) -> str:
    """Where a global is filled: in the module's own frame if it still runs, or in one of its functions."""
    for frame in running_frames():
        if frame.f_globals is names:
            for code in nested(frame.f_code):
                if (line := filling_line(code, name)) is not None:
                    return f"{short(code.co_filename)}:{line}"
    for code in codes_of(list(names.values())):
        if (line := filling_line(code, name)) is not None:
            return f"{short(code.co_filename)}:{line}"
    return f"{short(str(names.get('__file__') or names.get('__name__')))}:1"


def attribute_place(owner: Any, name: str) -> str:
    for kind in type(owner).__mro__:
        for code in codes_of(list(vars(kind).values())):
            if (line := filling_line(code, name)) is not None:
                return f"{short(code.co_filename)}:{line}"
    for frame in running_frames():
        if (line := filling_line(frame.f_code, name)) is not None:
            return f"{short(frame.f_code.co_filename)}:{line}"
    return definition_of(type(owner)).partition(" ")[0]
