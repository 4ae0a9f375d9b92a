"""A tiny GPT trained once unbroken, and once killed in the middle and resumed in a new process: the losses of each."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TOKENS = 2_000_000
VOCABULARY = 256
ROWS_SHOWN = 4  # around the kill, and at the end


@dataclass
class Losses:
    """Of each training, by step, as floats are written without loss."""

    unbroken: dict[int, str] = field(default_factory=dict)
    killed: dict[int, str] = field(default_factory=dict)
    resumed: dict[int, str] = field(default_factory=dict)

    def same(self) -> bool:
        """Whether every step of the broken training has the unbroken one's loss, to the last bit."""
        together = self.killed | self.resumed
        agree = all(self.unbroken[step] == loss for part in (self.killed, self.resumed) for step, loss in part.items())
        return agree and together.keys() == self.unbroken.keys()


def make_tokens(path: Path) -> None:
    """Something to learn: a token follows from the last one, but for a little noise."""
    random = np.random.default_rng(3)
    follower = random.permutation(VOCABULARY)
    tokens = np.empty((1000, TOKENS // 1000), np.uint16)
    tokens[:, 0] = random.integers(VOCABULARY, size=1000)
    for i in range(1, tokens.shape[1]):
        surprise = random.random(1000) < 0.1
        tokens[:, i] = np.where(surprise, random.integers(VOCABULARY, size=1000), follower[tokens[:, i - 1]])
    tokens.tofile(path)


def _train(tokens: Path, checkpoint: Path, steps: int, kill_at: int | None = None) -> dict[int, str]:
    """The losses that the process told before it ended, or before it was killed without a word of warning."""
    command = [sys.executable, "-m", "examples.tiny_gpt", str(tokens), str(checkpoint), str(steps)]
    losses: dict[int, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            step, loss = line.split()
            losses[int(step)] = loss
            if int(step) == kill_at:
                process.kill()
    if process.returncode != 0 and kill_at is None:
        raise RuntimeError(f"the training ended with exit code {process.returncode}")
    return losses


def train(folder: Path, steps: int) -> Losses:
    """In three processes: one from end to end, one killed a little behind its middle, one that goes on from there."""
    tokens = folder / "structured.bin"
    make_tokens(tokens)
    return Losses(
        unbroken=_train(tokens, folder / "unbroken.pt", steps),
        killed=_train(tokens, folder / "broken.pt", steps, kill_at=steps // 2 + 3),
        resumed=_train(tokens, folder / "broken.pt", steps),
    )


def show(folder: Path, steps: int) -> bool:
    """Train, and print the losses side by side; whether they are the same."""
    print(f"A tiny GPT, {steps} steps: unbroken, and killed (SIGKILL) and resumed in a new process.")
    losses = train(folder, steps)
    first, last = min(losses.resumed), max(losses.killed)
    print(f"Killed after step {last}; the last checkpoint was before step {first}.\n")
    print(f"  {'step':>4}  {'unbroken':>22}  {'killed':>22}  {'resumed':>22}")
    shown = {0, *range(first - 1, first + ROWS_SHOWN), *range(last - 1, last + ROWS_SHOWN), *range(steps - 2, steps)}
    previous = -1
    for step in sorted(shown & losses.unbroken.keys()):
        if step != previous + 1:
            print(f"  {'…':>4}")
        columns = (part.get(step) for part in (losses.unbroken, losses.killed, losses.resumed))
        figures = ("" if loss is None else repr(float.fromhex(loss)) for loss in columns)
        print(f"  {step:4}  " + "  ".join(f"{figure:>22}" for figure in figures).rstrip())
        previous = step
    verdict = "the same to the last bit, at every step" if losses.same() else "NOT the same"
    print(f"\nThe losses are {verdict}.")
    return losses.same()
