"""What the demos show: bars of memory over time in the terminal, a closing table, and a picture."""

from __future__ import annotations

import math
from pathlib import Path

from .watched_run import Run

MIB = 1 << 20
WIDTH = 50
LEVELS = " ▁▂▃▄▅▆▇█"
PEER, OURS = "#c44e52", ("#1f77b4", "#55a868")

Result = tuple[str, list[Run]]  # what was done, and by whom: the peer first


def _levels(run: Run, span: float, limit: int) -> str:
    columns = max(1, min(WIDTH, round(WIDTH * run.seconds / span)))
    highest = [0] * columns
    for when, held in run.samples:
        column = min(columns - 1, int(columns * when / max(run.seconds, 1e-9)))
        highest[column] = max(highest[column], held)
    for i in range(1, columns):
        highest[i] = highest[i] or highest[i - 1]
    return "".join(LEVELS[min(8, max(1, round(8 * held / limit)))] for held in highest)


def _outcome(run: Run, unit: str) -> str:
    return run.failure or (f"{run.rate:,.0f} {unit}" if unit else f"{run.seconds:.2f} s")


def show(title: str, runs: list[Run], limit: int, unit: str = "") -> None:
    """One line of memory over time for each contender, on one scale; a full column is the limit, or the peak.

    With a unit such as "batches/s" rates are told instead of seconds.
    """
    print(title)
    span = max(run.seconds for run in runs)
    names = max(10, *(len(run.name) for run in runs))
    outcomes = max(8, *(len(_outcome(run, unit)) for run in runs))
    for run in runs:
        bar = _levels(run, span, max(limit, *(other.peak for other in runs))) if run.samples else ""
        peak = f"peak {run.peak // MIB:4d} MiB" if run.peak else ""
        print(f"  {run.name:{names}} {_outcome(run, unit):>{outcomes}}  {peak}  {bar}", flush=True)
    print()


def _verdict(peer: Run, ours: Run) -> str:
    if ours.failure:
        return f"{ours.name} failed: {ours.failure}"
    if peer.failure:
        return f"{peer.name} {peer.failure}"
    ratio = ours.rate / peer.rate
    if ratio >= 1:
        return f"{ours.name} {ratio:.1f} x as fast"
    return f"{peer.name} {1 / ratio:.1f} x as fast: use it for this"


def summarise(results: list[Result], limit: int) -> None:
    """The closing lines, losses included."""
    counted = results[0][1][0]
    print(f"In short{f' ({counted.watched})' if counted.watched else ''}:")
    for title, (peer, *ours) in results:
        memory = ", ".join(f"{run.name} {run.peak // MIB} MiB" for run in (peer, *ours) if run.peak)
        for run in ours:
            print(f"  {_verdict(peer, run):44} {title}")
        if memory:
            print(f"  {'':44} peak: {memory} (limit {limit // MIB}{'' if peer.enforced else ', not enforced'})")


def why_no_picture(results: list[Result]) -> str:
    """Where draw() gave None."""
    seen = all(run.samples for _, runs in results for run in runs)
    return "matplotlib is not installed" if seen else "the memory of a process cannot be seen here"


def draw(results: list[Result], limit: int, budget: int, path: Path, unit: str = "") -> Path | None:
    """Memory over time, one panel for each work. None where matplotlib is missing, or there is nothing to draw."""
    everyone = [run for _, runs in results for run in runs]
    if not all(run.samples for run in everyone):
        return None
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = min(2, len(results))
    rows = math.ceil(len(results) / columns)
    size = (3 + 4 * columns, 0.5 + 3 * rows)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    limit_name = "container limit" if everyone[0].enforced else "a container of this size was not to be had here"
    highest = max(limit, *(run.peak for run in everyone))
    for panel, (title, runs) in zip(panels.flat, results, strict=True):
        for run, colour in zip(runs, (PEER, *OURS), strict=False):
            times, held = zip(*run.samples, strict=True)
            label = f"{run.name}: {_outcome(run, unit)}, peak {run.peak // MIB} MiB"
            panel.plot(times, [h / MIB for h in held], label=label, color=colour, linewidth=1.8)
            panel.plot(times[-1], held[-1] / MIB, "o", color=colour, markersize=5)
        panel.axhline(limit / MIB, color="black", linestyle="--", linewidth=0.8)
        right = panel.get_yaxis_transform()
        panel.text(0.99, limit / MIB, limit_name, ha="right", va="bottom", transform=right, fontsize=8)
        panel.axhline(budget / MIB, color=OURS[0], linestyle=":", linewidth=0.8)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("seconds")
        panel.set_ylabel("MiB")
        panel.set_ylim(0, 1.15 * highest / MIB)
        panel.set_xlim(left=0)
        panel.legend(fontsize=8, loc="center right")
    figure.suptitle(f"{everyone[0].watched.capitalize()} (dotted: lowtide's budget)")
    figure.savefig(path, dpi=130)
    return path
