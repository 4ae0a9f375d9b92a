"""What the demo shows: bars of memory over time in the terminal, a closing table, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .demo import Run, Work

MIB = 1 << 20
WIDTH = 50
LEVELS = " ▁▂▃▄▅▆▇█"


def _levels(run: Run, span: float, limit: int) -> str:
    columns = max(1, min(WIDTH, round(WIDTH * run.seconds / span)))
    highest = [0] * columns
    for when, held in run.samples:
        column = min(columns - 1, int(columns * when / max(run.seconds, 1e-9)))
        highest[column] = max(highest[column], held)
    for i in range(1, columns):
        highest[i] = highest[i] or highest[i - 1]
    return "".join(LEVELS[min(8, max(1, round(8 * held / limit)))] for held in highest)


def show(title: str, runs: list[Run], limit: int) -> None:
    """One line of memory over time for each contender, on one time scale; a full column is the container's limit."""
    print(title)
    span = max(run.seconds for run in runs)
    for run in runs:
        bar = _levels(run, span, limit) if run.samples else ""
        outcome = run.failure or f"{run.seconds:6.2f} s"
        peak = f"peak {run.peak // MIB:4d} MiB" if run.peak else ""
        print(f"  {run.name:10} {outcome}  {peak}  {bar}", flush=True)
    print()


def _verdict(runs: list[Run]) -> str:
    memmap, ours = runs
    if ours.failure:
        return f"lowtide failed: {ours.failure}"
    if memmap.failure:
        return f"np.memmap {memmap.failure}"
    ratio = memmap.seconds / ours.seconds
    return f"lowtide {ratio:.1f} x as fast" if ratio >= 1 else f"np.memmap {1 / ratio:.1f} x as fast: use it for this"


def summarise(results: list[tuple[Work, list[Run]]], limit: int) -> None:
    """The closing lines, losses included."""
    print("In short:")
    for work, runs in results:
        memory = ", ".join(f"{run.name} {run.peak // MIB} MiB" for run in runs if run.peak)
        print(f"  {_verdict(runs):44} {work.title}")
        if memory:
            print(f"  {'':44} peak container memory: {memory} (limit {limit // MIB})")


def draw(results: list[tuple[Work, list[Run]]], limit: int, budget: int, path: Path) -> Path | None:
    """Memory over time, one panel for each work. None where matplotlib is missing."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, panels = plt.subplots(2, 2, figsize=(11, 6.5), layout="constrained")
    colours = {"np.memmap": "#c44e52", "lowtide": "#1f77b4"}
    for panel, (work, runs) in zip(panels.flat, results, strict=True):
        for run in runs:
            if not run.samples:
                continue
            times, held = zip(*run.samples, strict=True)
            label = f"{run.name}: {run.failure or f'{run.seconds:.2f} s'}, peak {run.peak // MIB} MiB"
            colour = colours[run.name]
            panel.plot(times, [h / MIB for h in held], label=label, color=colour, linewidth=1.8)
            panel.plot(times[-1], held[-1] / MIB, "o", color=colour, markersize=5)
        panel.axhline(limit / MIB, color="black", linestyle="--", linewidth=0.8)
        right = panel.get_yaxis_transform()
        panel.text(0.99, limit / MIB, "container limit", ha="right", va="bottom", transform=right, fontsize=8)
        panel.axhline(budget / MIB, color="#1f77b4", linestyle=":", linewidth=0.8)
        panel.set_title(work.title, fontsize=10)
        panel.set_xlabel("seconds")
        panel.set_ylabel("container memory, MiB")
        panel.set_ylim(0, 1.15 * limit / MIB)
        panel.set_xlim(left=0)
        panel.legend(fontsize=8, loc="center right")
    figure.suptitle("Memory of the container, page cache included (dotted: lowtide's budget)")
    figure.savefig(path, dpi=130)
    return path
