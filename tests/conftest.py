"""Fixtures of every test: a budget that is given back, files to read, and the four ways to read them."""

from __future__ import annotations

import gc
import getpass
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

import lowtide as lt

IO_MODES = ("uring", "threads", "dontcache", "buffered")

# A shell that starts a job in the background has it ignore Ctrl-C, and all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest --hypothesis-profile=thorough looks twenty times longer, and elsewhere each time.
_OPTIONS: dict[str, Any] = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck), "print_blob": True}
hypothesis.settings.register_profile("ci", max_examples=100, derandomize=True, **_OPTIONS)
hypothesis.settings.register_profile("thorough", max_examples=2000, **_OPTIONS)
hypothesis.settings.load_profile("ci")

_failed = pytest.StashKey[bool]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests run with LOWTIDE_FULL=1, or when they are asked for by -m."""
    if os.environ.get("LOWTIDE_FULL", "0").lower() not in ("", "0", "off", "false") or "slow" in config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Not even an empty folder stays in the temporary folder."""
    if not hasattr(config, "workerinput"):
        with suppress(OSError):  # what a failed test left is in it, or another run
            (Path(tempfile.gettempdir()) / f"pytest-of-{getpass.getuser()}").rmdir()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    item.stash[_failed] = item.stash.get(_failed, False) or report.outcome != "passed"


def held_besides_cache() -> dict[str, int]:
    """What lowtide holds and could not drop at once."""
    gc.collect()
    return {purpose: count for purpose, count in lt.usage().by_purpose.items() if purpose != "cache"}


@pytest.fixture(autouse=True)
def _budget_is_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    previous = lt.set_budget("64MiB")
    yield
    lt.set_budget(previous)
    if not request.node.stash.get(_failed, False):  # a traceback keeps what its frames hold
        assert held_besides_cache() == {}


@pytest.fixture
def held() -> Callable[[], dict[str, int]]:
    return held_besides_cache


@pytest.fixture(params=IO_MODES)
def io_mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Runs the test once in each IO mode that this machine has."""
    mode: str = request.param
    monkeypatch.setenv("LOWTIDE_IO", mode)
    probe = tmp_path / "probe.bin"
    probe.write_bytes(bytes(4096))
    array = lt.open(probe, dtype="uint8")
    given = next(file for file in lt.info()["files"] if file["path"] == array.path)
    if given["io"] != mode:
        pytest.skip(f"no {mode} here: {given['why']}")
    return mode


@pytest.fixture
def npy(tmp_path: Path) -> Callable[..., Path]:
    """Saves an array with NumPy and gives the path."""

    def save(array: Any, name: str = "x.npy") -> Path:
        path = tmp_path / name
        np.save(path, array)
        return path

    return save


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Path]:
    """Writes an array's bare bytes and gives the path."""

    def save(array: Any, name: str = "x.bin") -> Path:
        path = tmp_path / name
        np.asarray(array).tofile(path)
        return path

    return save


@pytest.fixture
def drop_pages() -> Callable[[Path], None]:
    """Makes the kernel forget what it has cached of a file."""
    return forget_pages


def forget_pages(path: Path, offset: int = 0, length: int = 0) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, offset, length, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """The test runs as a user whom permissions bind, even where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.fixture
def doctest_namespace(npy: Callable[..., Path], raw: Callable[..., Path], tmp_path: Path) -> dict[str, Any]:
    """The names that the docstrings of the package use, made anew for each of them."""
    path = npy(np.arange(400, dtype=np.float64).reshape(100, 4), "doc.npy")
    raw_path = raw(np.arange(50, dtype=np.uint16), "doc.bin")
    tokens_path = raw(np.random.default_rng(0).integers(0, 50_000, 10_000).astype(np.uint16), "tokens.bin")
    return {
        "lt": lt,
        "np": np,
        "path": str(path),
        "raw_path": str(raw_path),
        "tokens_path": str(tokens_path),
        "new_path": str(tmp_path / "new.npy"),
        "a": lt.open(path),
        "mm": np.memmap(raw_path, dtype=np.uint16, mode="r"),
    }
