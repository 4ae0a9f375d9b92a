"""`lt.doctor`: watching from inside, and memory checks for tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from lowtide.doctor.inject.lowtide_doctor_agent import Agent

import lowtide as lt


def test_a_list_that_grows_is_a_leak_with_its_line() -> None:
    kept = []
    with lt.doctor.watch() as w:
        for _ in range(60):
            kept.append(np.ones(1 << 17))
            w.step()
            time.sleep(0.03)
    verdict = w.verdict
    assert verdict.leak, str(verdict)
    assert verdict.kind == "objects"
    assert "test_watch.py" in verdict.where
    assert "kept" in verdict.where
    assert verdict.per_step == pytest.approx(1 << 20, rel=0.3)
    assert sum(verdict.parts.values()) == verdict.bytes


def test_a_loop_that_keeps_nothing_is_no_leak_and_has_a_page(tmp_path: Path) -> None:
    with lt.doctor.watch() as w:
        for _ in range(20):
            np.ones(1 << 16).sum()
            w.step()
            time.sleep(0.02)
    assert not w.verdict.leak
    w.save_html(tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert "iframe" in w._repr_html_()


def runs_after_fork(agent: Agent) -> tuple[bool, bool]:
    """Here, and in a child."""
    child = os.fork()
    if child == 0:
        os._exit(agent.running)
    return agent.running, bool(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def test_a_fork_does_not_bring_back_a_watch_that_has_ended() -> None:
    with lt.doctor.watch() as w:
        agent = w._agent
        assert agent is not None
        assert runs_after_fork(agent) == (True, True)
    assert runs_after_fork(agent) == (False, False)


def test_a_step_outside_a_watch_says_what_to_type() -> None:
    with pytest.raises(RuntimeError, match=r"with lt\.doctor\.watch"):
        lt.doctor.watch().step()


def test_check_flat_passes_what_is_flat() -> None:
    assert not lt.doctor.check_flat(lambda: np.ones(1000).sum(), steps=20).leak


def test_check_flat_fails_with_the_report() -> None:
    kept = []
    with pytest.raises(AssertionError, match=r"memory grows by .* a step over 30 steps"):
        lt.doctor.check_flat(lambda: kept.append(np.ones(1 << 17)), steps=30)


def test_the_marker_repeats_a_test_and_fails_when_it_grows(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(
        "import pytest\nkept = []\n"
        "@pytest.mark.flat_memory(per_step='10KiB', steps=20)\ndef test_flat():\n    sum(range(10))\n"
        "@pytest.mark.flat_memory(per_step='10KiB', steps=20)\ndef test_grows():\n    kept.append(bytearray(1 << 20))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "memory grows by" in done.stdout
