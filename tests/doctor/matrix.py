"""The corpus: every scenario under the doctor, three times with other sizes and seeds, as a confusion matrix.

A scenario's first lines say what is right: `# kind: objects` (several where more than one is fair) and `# leak: true`;
a line that ends in `# here` is the one that must be named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "scenarios"
PROGRAM = Path(sys.executable).parent / "lowtide"
VARIANTS = ((48, 1), (64, 2), (96, 3))  # MiB, seed
RESIDUE_SHARE, RESIDUE_BYTES = 0.05, 4 << 20


@dataclass(frozen=True)
class Scenario:
    path: Path
    kinds: tuple[str, ...]
    leak: bool
    line: int | None

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Outcome:
    scenario: Scenario
    variant: tuple[int, int]
    verdict: dict[str, Any]
    error: str = ""

    @property
    def right(self) -> bool:
        return (
            not self.error
            and self.verdict["kind"] in self.scenario.kinds
            and self.verdict["leak"] == self.scenario.leak
        )

    @property
    def adds_up(self) -> bool:
        return not self.error and sum(self.verdict["parts"].values()) == self.verdict["bytes"]

    @property
    def residue_is_small(self) -> bool:
        residue = abs(self.verdict["parts"].get("unexplained", 0)) if not self.error else 1 << 60
        return residue <= max(RESIDUE_BYTES, RESIDUE_SHARE * abs(self.verdict.get("bytes", 0)))

    @property
    def line_is_right(self) -> bool:
        return f"{self.scenario.path.name}:{self.scenario.line}" in self.verdict.get("where", "")


def scenarios() -> list[Scenario]:
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        text = path.read_text()
        kinds = re.search(r"^# kind: (.+)$", text, re.MULTILINE)
        if kinds is None:
            continue
        leak = re.search(r"^# leak: (true|false)$", text, re.MULTILINE)
        assert leak is not None, f"{path} does not say whether it leaks"
        lines = [i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
        found.append(Scenario(path, tuple(kinds[1].split(" | ")), leak[1] == "true", lines[0] if lines else None))
    return found


def run(scenario: Scenario, variant: tuple[int, int], seconds: float = 4.0, cgroup: bool = True) -> Outcome:
    """One scenario under `lowtide doctor run`."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCENARIO_DIR", "/var/tmp")) as folder:
        report = Path(folder) / "report.json"
        command: list[str | Path] = [PROGRAM, "doctor", "run", "-q", "--json", report]
        command += ["--timeline", Path(folder) / "timeline", *(["--cgroup"] if cgroup else []), "--"]
        command += [sys.executable, scenario.path, str(variant[0]), str(variant[1]), str(seconds)]
        done = subprocess.run(
            command, env=os.environ | {"SCENARIO_DIR": folder}, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode != 0 or not report.exists():
            return Outcome(scenario, variant, {}, f"exit {done.returncode}: {done.stderr[-300:]}")
        return Outcome(scenario, variant, json.loads(report.read_text())["verdict"])


def print_matrix(outcomes: list[Outcome]) -> None:
    said = sorted({o.verdict.get("kind", "failed") for o in outcomes})
    meant = sorted({o.scenario.kinds[0] for o in outcomes})
    counts = Counter((o.scenario.kinds[0], o.verdict.get("kind", "failed")) for o in outcomes)
    print(f"{'meant':>15} | " + " ".join(f"{kind[:13]:>13}" for kind in said))
    for kind in meant:
        print(f"{kind:>15} | " + " ".join(f"{counts[kind, other] or '.':>13}" for other in said))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these scenarios")
    parser.add_argument("--variants", type=int, default=len(VARIANTS))
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each scenario takes")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    chosen = [s for s in scenarios() if not options.names or s.name in options.names]
    work = [(s, v) for s in chosen for v in VARIANTS[: options.variants]]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda item: run(*item, seconds=options.seconds), work))
    for o in outcomes:
        if not o.right or not o.residue_is_small:
            v = o.verdict
            print(
                f"{o.scenario.name} {o.variant}: meant {o.scenario.kinds}, leak={o.scenario.leak}; "
                f"said {v.get('kind')}, leak={v.get('leak')} {o.error}\n    {v.get('parts')}"
            )
    print_matrix(outcomes)
    right = sum(o.right for o in outcomes)
    accused = [o.scenario.name for o in outcomes if not o.scenario.leak and o.verdict.get("leak")]
    placed = [o for o in outcomes if o.scenario.line is not None]
    lines = sum(o.line_is_right for o in placed)
    print(f"right: {right} of {len(outcomes)} ({100 * right / len(outcomes):.1f} %)")
    print(f"innocent and called a leak: {len(accused)} {sorted(set(accused))}")
    wrong = sorted({o.scenario.name for o in placed if not o.line_is_right})
    print(f"the line is right: {lines} of {len(placed)}; wrong: {wrong}")
    small = sum(o.residue_is_small for o in outcomes)
    print(f"the table adds up: {sum(o.adds_up for o in outcomes)}; residue small: {small}")
    good = (
        right >= 0.95 * len(outcomes)
        and not accused
        and lines >= 0.9 * len(placed)
        and all(o.adds_up for o in outcomes)
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
