"""Batches in page-locked memory, against a stand-in for CUDA's driver: all of it undone, and sizes exact."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).with_name("stand_in_cuda.c")
PAGE = 4096
# 64 rows x 16 tokens of int64, x and y: 4 pages.
BATCH_BYTES = 2 * 64 * 16 * 8
BEGIN = """
import gc, os, sys
import lowtide as lt
path, rows_path = sys.argv[1:]
lt.set_budget("64MiB")
"""
TOKENS = BEGIN + "loader = lt.TokenLoader(path, block=16, batch=64, epochs=1, pin=True)\n"


class Driver:
    """Runs scripts with the stand-in, and tells what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls.txt"
        tokens = np.random.default_rng(0).integers(0, 5000, 200_000).astype(np.uint16)
        tokens.tofile(folder / "tokens.bin")
        np.save(folder / "rows.npy", np.arange(64 * 2048, dtype=np.int64).reshape(64, 2048))
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-Wall", str(SOURCE), "-o", str(folder / "libcuda.so.1")], check=True
        )

    def run(self, script: str, *, there: bool = True, **environment: str) -> str:
        variables = {**os.environ, **environment, "STAND_IN_LOG": str(self.log)}
        if there:
            variables["LD_LIBRARY_PATH"] = str(self.folder)
        self.log.write_text("")
        command = [sys.executable, "-c", script, str(self.folder / "tokens.bin"), str(self.folder / "rows.npy")]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def calls(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()]

    def check_all_undone(self) -> list[int]:
        """Sizes of what was registered, each of it once at a time, and all of it undone."""
        live: dict[str, int] = {}
        sizes = []
        for call, address, size, flags in self.calls:
            assert call != "unbalanced"
            if call == "register":
                assert address not in live
                assert int(address, 16) % PAGE == 0
                assert flags == "1"  # for all contexts
                live[address] = int(size)
                sizes.append(int(size))
            elif call == "unregister":
                del live[address]
        assert live == {}
        return sizes


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return Driver(tmp_path_factory.mktemp("cuda"))


def test_every_batch_is_registered_at_its_size_and_undone(driver: Driver) -> None:
    out = driver.run(
        TOKENS + "kept = [x for (x, y), _ in zip(loader, range(9))]\n"
        "stats = loader.stats()\n"
        "print(stats.pinned, stats.held, repr(loader).endswith('pinned>'), 'pinned' in str(stats))\n"
        "loader.close()\ndel kept\ngc.collect()\nprint(lt.usage().held)"
    )
    sizes = driver.check_all_undone()
    assert len(sizes) >= 9
    assert set(sizes) == {BATCH_BYTES}
    pinned, held, says_so, in_stats = out.split()[:4]
    assert int(pinned) % BATCH_BYTES == 0
    assert 9 * BATCH_BYTES <= int(pinned) < int(held)
    assert (says_so, in_stats) == ("True", "True")


def test_batches_that_outlive_their_loader_stay_registered_until_they_go(driver: Driver) -> None:
    out = driver.run(
        TOKENS + "x, y = next(iter(loader))\nloader.close()\ndel loader\ngc.collect()\n"
        "lines = open(os.environ['STAND_IN_LOG']).read()\n"
        "print(lines.count('\\nregister') - lines.count('\\nunregister'))\ndel x, y\ngc.collect()"
    )
    assert out.split() == ["1"]
    driver.check_all_undone()


def test_rows_are_pinned_too_unless_they_are_cut_from_windows(driver: Driver) -> None:
    script = (
        BEGIN + "loader = lt.RowLoader(lt.open(rows_path), batch=4, pin=True, shuffle={!r})\n"
        "n = sum(len(b) for b in loader)\nprint(n, loader.stats().pinned > 0)\nloader.close()"
    )
    assert driver.run(script.format("global")).split() == ["64", "True"]
    assert set(driver.check_all_undone()) == {4 * 2048 * 8}
    assert driver.run(script.format("windowed")).split() == ["64", "False"]
    assert driver.check_all_undone() == []


def test_the_context_is_that_of_the_device_in_use(driver: Driver) -> None:
    driver.run(TOKENS + "next(iter(loader))\nloader.close()", STAND_IN_CURRENT="3")
    assert [call[3] for call in driver.calls if call[0] == "retain"] == ["3"]
    driver.run(TOKENS + "next(iter(loader))\nloader.close()")
    assert [call[3] for call in driver.calls if call[0] == "retain"] == ["0"]


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        ("cuInit 100", "cuInit: CUDA_ERROR_NO_DEVICE (100)"),
        ("cuDeviceGet 2", "cuDeviceGet: CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuDevicePrimaryCtxRetain 2", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuMemHostRegister 2", "cuMemHostRegister: CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuMemHostRegister 999", "cuMemHostRegister: an unknown error (999)"),
    ],
)
def test_a_refusal_means_ordinary_memory_and_is_told(driver: Driver, fails: str, reason: str) -> None:
    out = driver.run(
        TOKENS + "n = sum(len(x) for x, y in loader)\nprint(n == loader.windows, loader.stats().pinned)\nprint(loader)",
        STAND_IN_FAILS=fails,
    )
    assert out.startswith("True 0\n")
    assert f"not pinned: {reason}>" in out
    assert driver.check_all_undone() == []


def test_what_was_pinned_before_a_refusal_is_undone(driver: Driver) -> None:
    out = driver.run(
        TOKENS + "kept = [x for (x, y), _ in zip(loader, range(9))]\nprint(loader.stats().pinned)\n"
        "del kept\nloader.close()",
        STAND_IN_FAILS="cuMemHostRegister 2 3",
    )
    assert int(out) == 3 * BATCH_BYTES
    assert driver.check_all_undone() == [BATCH_BYTES] * 3


def test_without_a_driver_the_loader_works_and_says_so(driver: Driver) -> None:
    out = driver.run(
        TOKENS + "print(len(next(iter(loader))[0]))\nprint(loader)", there=False, LD_LIBRARY_PATH="/nonexistent"
    )
    assert out.startswith("64\n")
    assert "not pinned: no CUDA driver: libcuda.so.1" in out


def test_a_forked_child_leaves_its_parents_registrations_alone(driver: Driver) -> None:
    out = driver.run(
        TOKENS + "first = next(iter(loader))\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    del first\n"
        "    print(len(next(iter(loader))[0]), loader.stats().pinned, 'fork' in repr(loader), flush=True)\n"
        "    loader.close()\n"
        "    del loader\n"
        "    gc.collect()\n"
        "    os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "lines = open(os.environ['STAND_IN_LOG']).read()\n"
        "print(lines.count('unregister'))\n"
        "del first\nloader.close()"
    )
    assert out.splitlines() == ["64 0 True", "0"]
    driver.check_all_undone()
