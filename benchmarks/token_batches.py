"""How many batches of 12 x 1024 tokens a second does a training loop get, beside nanoGPT's get_batch?

The peer is get_batch as its users have it, but for np.stack in the place of torch.stack: nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Rounds, Sample

Measure = Callable[[], Any]
BLOCK, BATCH = 1024, 12
RANDOM = np.random.default_rng(5)
GET_BATCH, KEPT = "nanoGPT's get_batch", "the same, its map kept"
EPOCH, SAMPLE = "lowtide, shuffled epoch", "lowtide, sample()"
LIMIT, GROUPED_LIMIT = "fio, 12 reads of 4 KiB", "fio, the same, grouped"


def draw(data: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Random windows of the tokens, and the same one token later."""
    starts = RANDOM.integers(len(data) - BLOCK, size=BATCH)
    x = np.stack([data[i : i + BLOCK].astype(np.int64) for i in starts])
    y = np.stack([data[i + 1 : i + 1 + BLOCK].astype(np.int64) for i in starts])
    return x, y


def get_batch(path: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """nanoGPT's: the map is made anew in every call, lest the whole file stay resident."""
    return draw(np.memmap(path, dtype=np.uint16, mode="r"))


def _repeat(measure: Measure, batches: int, step: Callable[[], Any]) -> int:
    with measure():
        for _ in range(batches):
            step()
    return batches


def nanogpt(measure: Measure, path: str, batches: int) -> int:
    """get_batch again and again."""
    return _repeat(measure, batches, lambda: get_batch(path))


def kept(measure: Measure, path: str, batches: int) -> int:
    """One map for all batches, every page of it mapped before the clock starts."""
    data = np.memmap(path, dtype=np.uint16, mode="r")
    np.add.reduce(data[::2048])
    return _repeat(measure, batches, lambda: draw(data))


def epoch(measure: Measure, path: str, batches: int, opened: bool = False) -> int:
    """`for x, y in loader`; opening the loader is timed too, unless `opened`."""
    import lowtide as lt

    def loader() -> Iterator[Any]:
        return iter(lt.TokenLoader(path, block=BLOCK, batch=BATCH, seed=5))

    if opened:
        stream = loader()
        next(stream)
        return _repeat(measure, batches, stream.__next__)
    with measure():
        stream = loader()
        for _ in range(batches):
            next(stream)
    return batches


def sample(measure: Measure, path: str, batches: int, opened: bool = False) -> int:
    """`loader.sample()`, the same way."""
    import lowtide as lt

    def loader() -> lt.TokenLoader:
        return lt.TokenLoader(path, block=BLOCK, batch=BATCH, seed=5)

    if opened:
        source = loader()
        source.sample()
        return _repeat(measure, batches, source.sample)
    with measure():
        source = loader()
        for _ in range(batches):
            source.sample()
    return batches


def _read(rounds: Rounds, batches: dict[str, int]) -> str:
    """How much the disk was asked for, for each batch."""
    found = []
    for name, count in batches.items():
        sizes = [each.more["read_bytes"] for each in rounds[name] if each]
        if sizes:
            found.append(f"{name} {median(sizes) / count / disk.KIB:,.0f} KiB")
    return "read from the disk for a batch: " + "; ".join(found)


def _cold(bench: Bench, path: Path, size: int) -> Report:
    # Enough of nanoGPT's to fill the container: each reads about 1.3 MiB around its windows.
    ours, theirs = (1000, 150) if bench.quick else (5000, 1000)
    container = size // 4

    def run_nanogpt() -> Sample:
        disk.make_cold(path)
        with bench.device.read_ahead(128):
            return bench.worker(nanogpt, limit_bytes=container, path=path, batches=theirs)

    def run_ours(function: Callable[..., int]) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_cold(path)
            return bench.worker(function, limit_bytes=container, path=path, batches=ours)

        return run

    def run_fio(more: dict[str, int]) -> Callable[[], Sample]:
        job = {"filename": path, "rw": "randread", "bs": "4k", "iodepth": 128, "size": size}

        def run() -> Sample:
            disk.make_cold(path)
            read = disk.fio({**job, "io_size": ours * BATCH * 4 * disk.KIB, **more})[0]["read"]
            return Sample(read["iops"] / BATCH, read["runtime"] / 1e3)

        return run

    contenders = {GET_BATCH: run_nanogpt, SAMPLE: run_ours(sample), EPOCH: run_ours(epoch)}
    if disk.have_fio():
        contenders[LIMIT] = run_fio({})
        contenders[GROUPED_LIMIT] = run_fio(disk.GROUPED)
    rounds = bench.interleave(contenders)
    setting = (
        f"{size >> 20} MiB of uint16, cold, int64 batches, a container of {container >> 20} MiB; "
        f"{ours} batches, nanoGPT {theirs}\n  {_read(rounds, {GET_BATCH: theirs, SAMPLE: ours, EPOCH: ours})}"
    )
    report = Report(__doc__, setting, "batches/s", rounds)
    report.bar(SAMPLE, GET_BATCH, at_least=8)
    report.bar(EPOCH, GET_BATCH, at_least=10)
    for name in (SAMPLE, EPOCH):
        report.bar(name, LIMIT)
        report.bar(name, GROUPED_LIMIT)
    return report


def _warm(bench: Bench, path: Path, size: int) -> Report:
    ours, theirs = (20_000, 2000) if bench.quick else (50_000, 5000)

    def cached(function: Callable[..., int], **arguments: Any) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_warm(path)
            return bench.worker(function, path=path, **arguments)

        return run

    contenders = {
        GET_BATCH: cached(nanogpt, batches=theirs),
        KEPT: cached(kept, batches=theirs),
        SAMPLE: cached(sample, batches=ours, opened=True),
        EPOCH: cached(epoch, batches=ours, opened=True),
    }
    rounds = bench.interleave(contenders)
    setting = (
        f"{size >> 20} MiB of uint16, all of it in the page cache, int64 batches; {ours} batches, nanoGPT {theirs}"
    )
    report = Report(__doc__, setting, "batches/s", rounds)
    for name in (SAMPLE, EPOCH):
        report.bar(name, GET_BATCH, at_least=15)
        report.bar(name, KEPT, at_least=8)
    return report


def ask(bench: Bench) -> Iterator[Report]:
    """Cold in a container four times smaller than the file, then wholly cached."""
    large = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    small = disk.GIB // (4 if bench.quick else 1)
    cold, warm = bench.folder / f"tokens-{large >> 20}.bin", bench.folder / f"warm-{small >> 20}.bin"
    disk.make_tokens(cold, large)
    yield _cold(bench, cold, large)
    disk.make_tokens(warm, small)
    yield _warm(bench, warm, small)
