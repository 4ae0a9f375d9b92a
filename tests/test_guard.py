"""Beside np.memmap: release and guard."""

from __future__ import annotations

import gc
import mmap
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, resident_bytes

import lowtide as lt


class TestReleaseAndGuard:
    def test_release_empties_what_a_numpy_memmap_holds(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(4 * MiB)), dtype="f8", mode="r")
        assert mapped.sum() == 4 * MiB
        before = resident_bytes(mapped)
        released = lt.release(mapped)
        assert before == 32 * MiB
        assert resident_bytes(mapped) < MiB
        assert released > 31 * MiB

    def test_release_writes_what_is_dirty_first(self, raw: File) -> None:
        path = raw(np.zeros(MiB))
        mapped = np.memmap(path, dtype="f8", mode="r+")
        mapped[:] = 3
        lt.release(mapped)
        assert resident_bytes(mapped) < MiB
        assert mapped.sum() == 3 * MiB

    def test_release_of_a_view_releases_its_map(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(MiB)), dtype="f8", mode="r")
        mapped.sum()
        lt.release(mapped[100:200])
        assert resident_bytes(mapped) < MiB

    def test_release_of_an_ordinary_array_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match=r"np\.memmap"):
            lt.release(np.zeros(3))

    def test_guard_keeps_a_memmap_under_its_limit(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(8 * MiB)), dtype="f8", mode="r")
        with lt.guard(mapped, limit="8MiB") as guard:
            assert mapped.sum() == 8 * MiB
            patience = time.monotonic() + 120
            while resident_bytes(mapped) > 8 * MiB and time.monotonic() < patience:
                time.sleep(0.01)
            assert resident_bytes(mapped) <= 8 * MiB
        assert guard.released > 0  # counted when the guard has stopped, behind the pages that it gave back

    def test_a_stopped_guard_lets_the_memmap_grow(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(2 * MiB)), dtype="f8", mode="r")
        guard = lt.guard(mapped, limit="1MiB")
        guard.stop()
        mapped.sum()
        assert resident_bytes(mapped) == 16 * MiB

    def test_a_guard_ends_with_its_map(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(MiB)), dtype="f8", mode="r")
        guard = lt.guard(mapped, limit="1MiB")
        del mapped
        gc.collect()
        assert not guard._finalizer.alive

    def test_a_guarded_map_cannot_be_closed_under_the_guard(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(MiB)), dtype="f8", mode="r")
        guard = lt.guard(mapped, limit="1MiB")
        with pytest.raises(BufferError):
            mapped._mmap.close()
        guard.stop()
        assert mapped[0] == 1

    def test_a_guard_never_touches_what_took_the_place_of_its_map(self, raw: File) -> None:
        """Memory mapped right after the map is gone has its address, as a rule."""
        path = raw(np.ones(MiB))
        for _ in range(100):
            mapped = np.memmap(path, dtype="f8", mode="r")
            guard = lt.guard(mapped, limit=0)  # gives back without end
            mapped.sum()
            del mapped
            other = mmap.mmap(-1, 8 * MiB)
            other.write(b"x" * (8 * MiB))
            time.sleep(0.002)
            assert other.find(b"\0") == -1
            guard.stop()
            other.close()

    @pytest.mark.parametrize("how", ["release", "guard"])
    def test_a_private_map_is_refused_and_keeps_its_changes(self, raw: File, how: str) -> None:
        mapped = np.memmap(raw(np.zeros(1000)), dtype="f8", mode="c")
        mapped[:] = 3
        with pytest.raises(lt.UnsupportedError, match="discard"):
            lt.release(mapped) if how == "release" else lt.guard(mapped)
        assert mapped.sum() == 3000

    def test_a_map_of_a_file_that_was_replaced_is_refused(self, raw: File, tmp_path: Path) -> None:
        mapped = np.memmap(raw(np.zeros(1000)), dtype="f8", mode="r")
        os.replace(raw(np.ones(1000), "other.bin"), tmp_path / "x.bin")
        with pytest.raises(lt.DataChangedError, match="replaced"):
            lt.release(mapped)

    @pytest.mark.parametrize("opened", [lt.memmap, lt.open])
    def test_an_array_of_lowtide_needs_no_guard(self, raw: File, opened: Any) -> None:
        with pytest.raises(TypeError, match="within the budget already"):
            lt.guard(opened(raw(np.ones(10)), dtype="f8"))

    def test_random_access_is_read_page_by_page(self, raw: File) -> None:
        """Else each touch brings in a window of read-ahead: 8 MiB on some machines."""
        path = raw(np.ones(16 * MiB))
        mapped = np.memmap(path, dtype="f8", mode="r")
        rng = np.random.default_rng(0)
        with lt.guard(mapped, limit="4MiB"):
            patience = time.monotonic() + 60
            while "rr" not in advice_of(mapped) and time.monotonic() < patience:
                for place in rng.integers(0, len(mapped), 20):
                    mapped[place]
            assert "rr" in advice_of(mapped)
        assert "rr" not in advice_of(mapped)

    def test_a_scan_is_read_ahead(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(16 * MiB)), dtype="f8", mode="r")
        with lt.guard(mapped, limit="64MiB") as guard:
            patience = time.monotonic() + 60
            while guard.released == 0 and time.monotonic() < patience:  # of what was written just now
                time.sleep(0.01)
            first = guard.released
            while guard.released < first + 64 * MiB and time.monotonic() < patience:
                assert mapped.sum() == 16 * MiB
            assert guard.released >= first + 64 * MiB
            assert "rr" not in advice_of(mapped)


def advice_of(mapped: np.memmap) -> list[str]:
    """The kernel's flags of a mapping: rr says that neighbours are not read."""
    start = mapped.__array_interface__["data"][0]
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        found = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if found and int(found[1], 16) <= start < int(found[2], 16):
            return next(flags for flags in lines if flags.startswith("VmFlags")).split()[1:]
    raise AssertionError("not mapped")
