"""nanoGPT's get_batch beside lt.TokenLoader on one file, then a tiny GPT that is killed and goes on to the last bit.

python -m examples.nanogpt_loader [--size 1GiB] [--picture build/nanogpt_loader.png]
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import disk
from benchmarks.token_batches import BATCH, BLOCK, get_batch

from . import demo_chart, killed_training, memory_watch, watched_run

MIB = 1 << 20
BUDGET = 64 * MIB


def _for_some_time(seconds: str, step: Callable[[], Any]) -> int:
    """As a training loop would, were it not for the training: the batches that came."""
    count, end = 0, time.perf_counter() + float(seconds)
    while time.perf_counter() < end:
        step()
        count += 1
    return count


def nanogpt(path: str, seconds: str) -> int:
    """get_batch, with np.stack in the place of torch.stack; the map is made anew each time, as nanoGPT does."""
    return _for_some_time(seconds, lambda: get_batch(path))


def lowtide_sample(path: str, seconds: str) -> int:
    """The same windows: anywhere, with replacement."""
    import lowtide as lt

    loader = lt.TokenLoader(path, block=BLOCK, batch=BATCH, seed=7)
    return _for_some_time(seconds, loader.sample)


def lowtide_epoch(path: str, seconds: str) -> int:
    """Better ones: shuffled, each exactly once an epoch."""
    import lowtide as lt

    batches = iter(lt.TokenLoader(path, block=BLOCK, batch=BATCH, seed=7))
    return _for_some_time(seconds, lambda: next(batches))


CONTENDERS = {
    "nanoGPT's get_batch": nanogpt,
    "lowtide sample()": lowtide_sample,
    "lowtide epoch": lowtide_epoch,
}


def compare(folder: Path, size: int, seconds: float, picture: Path) -> None:
    """Part one: batches a second, and memory over time."""
    limit = size // 4
    budget = min(BUDGET, limit // 2)
    path = folder / "train.bin"
    print(f"Making {size // MIB} MiB of tokens in {folder} …", flush=True)
    disk.make_tokens(path, size)
    device = disk.Device(folder)
    print(
        f"{memory_watch.describe(limit, path)} Each has {seconds:g} seconds. "
        f"lowtide's budget is {budget // MIB} MiB.\n"
        f"Read-ahead is Linux's default, 128 KiB{'' if device.can_set_read_ahead() else ' (not set here)'}.\n"
    )
    runs = []
    for name, function in CONTENDERS.items():
        disk.make_cold(path)
        with device.read_ahead(128):
            runs.append(watched_run.run(name, function, [path, seconds], limit, budget))
    title = f"batches of {BATCH} x {BLOCK} tokens, int64, from a cold file"
    demo_chart.show(title, runs, limit, "batches/s")
    demo_chart.summarise([(title, runs)], limit)
    results = [(title, runs)]
    drawn = demo_chart.draw(results, limit, budget, picture, "batches/s")
    print(f"\nThe same as a picture: {drawn}\n" if drawn else f"\n(no picture: {demo_chart.why_no_picture(results)})\n")


def resume(folder: Path, steps: int) -> bool:
    """Part two: whether a training that was killed gave the very losses of one that was not. True without torch."""
    if importlib.util.find_spec("torch") is None:
        print("Part two, a tiny GPT that is killed and resumed, needs PyTorch.")
        print(f"To see it: {sys.executable} -m pip install torch")
        return True
    return killed_training.show(folder, steps)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.nanogpt_loader", description=__doc__.splitlines()[0], epilog="It needs no arguments."
    )
    parser.add_argument("--size", default="1GiB", help="of the file of tokens that is made (default 1GiB)")
    parser.add_argument("--seconds", type=float, default=5, help="for each contender (default 5)")
    parser.add_argument("--steps", type=int, default=40, help="of the training (default 40)")
    parser.add_argument(
        "--picture", default="build/nanogpt_loader.png", help="where the chart goes (default %(default)s)"
    )
    parser.add_argument("--part", type=int, choices=(1, 2), help="only the comparison, or only the training")
    arguments = parser.parse_args()
    from lowtide._core import parse_bytes

    parent = disk.default_folder().parent
    with tempfile.TemporaryDirectory(prefix="lowtide-nanogpt-", dir=parent) as folder:
        if arguments.part != 2:
            compare(Path(folder), parse_bytes(arguments.size), arguments.seconds, Path(arguments.picture))
        return 0 if arguments.part == 1 or resume(Path(folder), arguments.steps) else 1


if __name__ == "__main__":
    sys.exit(main())
