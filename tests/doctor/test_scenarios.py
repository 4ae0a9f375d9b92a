"""A sample of the corpus that `make doctor-matrix` runs: right kinds, no innocent accused, tables that add up."""

from __future__ import annotations

import pytest

from .matrix import Scenario, run, scenarios

SAMPLE = (
    "keep_arrays",
    "cycles_gc_off",
    "native_malloc",
    "heap_pinned",
    "map_read",
    "shm_not_unlinked",
    "big_and_flat",
)
INNOCENT = ("flat_loop", "sawtooth", "bounded_deque", "lazy_touch")


def named(*names: str) -> list[Scenario]:
    return [scenario for scenario in scenarios() if scenario.name in names]


# Slow: where a dozen programs share a core, looks are too few to tell growth that goes on from growth that stopped.
@pytest.mark.slow
@pytest.mark.parametrize("scenario", named(*SAMPLE), ids=lambda s: s.name)
def test_the_kind_and_the_line_are_right(scenario: Scenario) -> None:
    outcome = run(scenario, (64, 5), cgroup=False)
    assert outcome.right, outcome
    assert outcome.adds_up
    assert scenario.line is None or outcome.line_is_right, outcome.verdict["where"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", named(*INNOCENT), ids=lambda s: s.name)
def test_the_innocent_are_not_accused(scenario: Scenario) -> None:
    outcome = run(scenario, (64, 6), cgroup=False)
    assert not outcome.error
    assert not outcome.verdict["leak"], outcome
    assert outcome.adds_up


def test_there_are_as_many_innocent_scenarios_as_guilty_ones() -> None:
    guilty = [scenario for scenario in scenarios() if scenario.leak]
    assert len(guilty) <= len(scenarios()) - len(guilty)
