"""Which objects there are, which containers grow, and what a garbage collection gives back."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from . import heap, holders

LARGE_CONTAINER = 16  # entries; smaller ones are not followed one by one
FOLLOWED = 400
REPORTED = 8
CONTAINERS = (list, dict, set, frozenset, tuple)
LOOKS_UP_EVERY = 4096  # objects: whether it is abandoned


class Abandoned(Exception):
    """Somebody waits for the end of this census, who will take one himself."""


def storage_of(obj: Any) -> tuple[int, int, int] | None:
    """(identity of the memory, its bytes, bytes of this view) of an array or tensor; None for anything else."""
    kind = type(obj)
    try:
        if kind.__module__.startswith("numpy") and hasattr(obj, "__array_interface__") and hasattr(obj, "base"):
            root = obj
            while type(root.base).__module__.startswith("numpy") and hasattr(root.base, "nbytes"):
                root = root.base
            return (id(root), 0 if is_map(root) else int(root.nbytes), int(obj.nbytes))
        if kind.__module__.startswith("torch") and hasattr(obj, "untyped_storage"):
            storage = obj.untyped_storage()
            if obj.device.type != "cpu" or not storage.data_ptr():
                return None
            return (int(storage.data_ptr()), int(storage.nbytes()), int(obj.numel() * obj.element_size()))
    except Exception:
        return None
    return None


def is_map(array: Any) -> bool:
    """Whether an array's memory is a mapped file's."""
    return type(array.base).__name__ == "mmap" or type(array).__name__ == "memmap"


class Snapshot:
    """One walk over all that the garbage collector knows, and over what that refers to."""

    def __init__(self, abandoned: Callable[[], bool]) -> None:
        self.storages: dict[int, int] = {}
        self.object_bytes = 0.0
        self.lengths: dict[int, int] = {}
        self.untracked: list[dict[Any, Any]] = []  # the collector does not know dicts of atoms; those who hold them do
        self.walk(abandoned)

    def walk(self, abandoned: Callable[[], bool]) -> None:  # one loop: calls would cost more than what they do
        objects = holders.tracked_objects()
        objects.extend(holders.running_frames())
        sizeof, refcount, referents = sys.getsizeof, sys.getrefcount, gc.get_referents
        storages, lengths = self.storages, self.lengths
        tracked = gc.is_tracked
        count = 0.0
        untracked = self.untracked
        array_types: dict[type, bool] = {}
        for number, obj in enumerate(objects):
            if obj is objects:
                continue
            if number % LOOKS_UP_EVERY == 0 and abandoned():
                objects.clear()
                raise Abandoned
            kind = type(obj)
            if kind in CONTAINERS and len(obj) >= LARGE_CONTAINER:
                lengths[id(obj)] = len(obj)
            if array_types.get(kind) is None:
                module = kind.__module__  # a class may hide it behind a descriptor
                array_types[kind] = isinstance(module, str) and module.startswith(("numpy", "torch"))
            if array_types[kind]:
                self._store(obj)
            try:
                count += sizeof(obj)
            except Exception:
                continue
            for part in referents(obj):
                part_kind = type(part)
                if part_kind is tuple:
                    objects.append(part)  # whole, since somebody holds it
                    continue
                if part_kind is str or part_kind is int or part_kind is float or part_kind is bytes:
                    # Shared among its holders; the loop itself holds three references.
                    count += sizeof(part) / max(1, refcount(part) - 3)
                elif not tracked(part):
                    known = array_types.get(part_kind)
                    if known is None:
                        known = array_types[part_kind] = part_kind.__module__.startswith(("numpy", "torch"))
                    if known:
                        self._store(part)
                    elif part_kind is bytearray:
                        storages.setdefault(id(part), len(part))
                    elif part_kind is dict and len(part) >= LARGE_CONTAINER and id(part) not in lengths:
                        lengths[id(part)] = len(part)
                        untracked.append(part)
                        objects.append(part)
        self.object_bytes = count
        for name, function_count in holders.cache_sizes(objects):
            lengths[name] = function_count
        objects.clear()

    def _store(self, obj: Any) -> None:
        found = storage_of(obj)
        if found is not None:
            self.storages[found[0]] = found[1]

    @property
    def array_bytes(self) -> int:
        return sum(self.storages.values())


class History:
    """Censuses over time: what each container had in an early one, and has now."""

    def __init__(self) -> None:
        self.abandoned = False
        self.lengths: list[tuple[float, dict[int, int]]] = []

    def take(self, age_s: float) -> dict[str, Any]:
        """The fields of a record; none where it was abandoned."""
        enabled = gc.isenabled()
        gc.disable()  # a collection in the middle would free what is being looked at
        try:
            now = Snapshot(lambda: self.abandoned)
            grown = self._grown(age_s, now.lengths)
            found = holders.describe(grown, storage_of, now.untracked)
            now.untracked.clear()
        except Abandoned:
            return {}
        finally:
            if enabled:
                gc.enable()
        self._remember(age_s, now.lengths)
        record: dict[str, Any] = {
            "census": True,
            "array_bytes": now.array_bytes,
            "object_bytes": int(now.object_bytes),
        }
        if found:
            record["holders"] = sorted(found, key=lambda holder: -holder["bytes"])[:REPORTED]
        return record

    def _grown(self, age_s: float, lengths: dict[int, int]) -> dict[int, int]:
        """Entries more than at an early census, of the containers that grew most."""
        if not self.lengths:
            return {}
        early = next((known for age, known in self.lengths if age >= 0.12 * age_s), self.lengths[-1][1])
        grown = {key: length - early.get(key, 0) for key, length in lengths.items() if length > early.get(key, 0)}
        most = sorted(grown, key=lambda key: -grown[key])[:FOLLOWED]
        return {key: grown[key] for key in most}

    def _remember(self, age_s: float, lengths: dict[int, int]) -> None:
        self.lengths.append((age_s, lengths))
        if len(self.lengths) > 12:
            self.lengths = [entry for i, entry in enumerate(self.lengths) if i % 2 == 0]


def collect_garbage() -> dict[str, Any]:
    """What a collection gives back, and of which types: asked when the program's own code has ended."""
    enabled = gc.isenabled()
    before = heap.malloc_facts() or {"live": 0, "mmapped": 0}
    blocks = sys.getallocatedblocks()
    flags = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(flags)
    types = Counter(type(obj) for obj in gc.garbage)
    most = [kind for kind, _ in types.most_common(50) if kind.__module__ not in ("builtins", "functools", "types")]
    where = holders.definition_of(most[0]) if most else ""
    count = types[most[0]] if most else 0
    gc.garbage.clear()
    gc.collect()
    after = heap.malloc_facts() or {"live": 0, "mmapped": 0}
    freed = before["live"] + before["mmapped"] - after["live"] - after["mmapped"]
    freed = max(0, freed) + max(0, blocks - sys.getallocatedblocks()) * 64
    record: dict[str, Any] = {"gc_probed": True, "garbage": freed, "gc_enabled": enabled}
    if where:
        record["holders"] = [
            {"type": most[0].__qualname__, "count": count, "bytes": freed, "where": where, "note": "unreachable"}
        ]
    return record
