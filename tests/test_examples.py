"""The examples run from end to end, small, and say what they found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def _examples_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)


def run_example(name: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"examples.{name}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["demo", "nanogpt_loader"])
def test_an_example_explains_itself(name: str) -> None:
    assert "--size" in run_example(name, "--help")


def test_nanogpt_and_the_loader_are_compared_side_by_side(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    said = run_example("nanogpt_loader", "--part", 1, "--size", "64MiB", "--seconds", 0.3, "--picture", picture)
    rates = dict(re.findall(r"^  (\S.*?) +([\d,]+) batches/s", said, re.MULTILINE))
    assert list(rates) == ["nanoGPT's get_batch", "lowtide sample()", "lowtide epoch"]
    assert all(int(rate.replace(",", "")) > 0 for rate in rates.values())
    if f"picture: {picture}" in said:
        assert picture.read_bytes().startswith(b"\x89PNG")
    else:
        assert "matplotlib is not installed" in said


@pytest.mark.usefixtures("_examples_are_importable")
def test_a_watched_run_tells_the_memory_of_what_it_watches(tmp_path: Path) -> None:
    from examples import demo, watched_run

    path = tmp_path / "x.npy"
    np.save(path, np.zeros((4096, 1024), np.float32))
    done = watched_run.run("scan", demo.memmap_scan, [path, ""], limit=64 << 20, budget=8 << 20)
    assert done.failure == ""
    assert done.seconds > 0
    assert done.rate == 1 / done.seconds
    assert 0 < max(held for _, held in done.samples) <= done.peak
    if done.enforced:
        assert done.peak <= 64 << 20


@pytest.mark.usefixtures("_examples_are_importable")
def test_a_watched_run_that_fails_is_an_outcome(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from examples import demo, watched_run

    done = watched_run.run("scan", demo.memmap_scan, [tmp_path / "none.npy", ""], limit=64 << 20, budget=8 << 20)
    assert done.failure == "exit 1"
    assert "none.npy" in capfd.readouterr().err


@pytest.mark.usefixtures("_examples_are_importable")
def test_memory_is_seen_without_a_container(tmp_path: Path) -> None:
    from examples import memory_watch

    path = tmp_path / "x.bin"
    path.write_bytes(bytes(32 << 20))
    code = "import sys; own = bytearray(48 << 20); print('ready', flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watch = memory_watch.Pages([path, tmp_path / "none.bin"])
    with process:
        assert process.stdout
        process.stdout.readline()
        with_pages = watch.now(process.pid)
        without = memory_watch.Pages([]).now(process.pid)
        assert with_pages is not None
        assert without is not None
        assert without >= 48 << 20
        assert with_pages - without >= 31 << 20  # the pages were written a moment ago
    assert watch.now(process.pid) is None
    assert watch.peak() == with_pages


VERSION_1 = "4:memory:/user/1\n1:name=systemd:/user\n0::/user\n"


@pytest.mark.usefixtures("_examples_are_importable")
def test_a_process_is_found_in_its_cgroup() -> None:
    from benchmarks import memory_cgroup

    assert memory_cgroup.of(VERSION_1) == Path("/sys/fs/cgroup/memory/user/1")
    version_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    scope = Path("/sys/fs/cgroup/user.slice/a.scope")
    assert memory_cgroup.of("0::/user.slice/a.scope\n") == (scope if version_2 else None)


# As in Docker, and for a normal user: no cgroup can be made.
WITHOUT_CGROUPS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$@"', "sh"]


def test_the_demo_has_something_to_show_without_a_container(tmp_path: Path) -> None:
    wrapper = WITHOUT_CGROUPS if os.geteuid() == 0 else []
    if wrapper and subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    picture = tmp_path / "demo.png"
    command = [*wrapper, sys.executable, "-m", "examples.demo", "--size", "32MiB", "--picture", picture]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing enforces a limit" in done.stdout or "runs in a container" in done.stdout
    assert len(re.findall(r"peak +[1-9]\d* MiB  .*[▁▂▃▄▅▆▇█]", done.stdout)) == 8
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("_examples_are_importable")
def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    from examples import demo_chart, watched_run

    unseen = [("a scan", [watched_run.Run("np.memmap", 1.0), watched_run.Run("lowtide", 1.0)])]
    assert demo_chart.draw(unseen, 1 << 20, 1 << 20, tmp_path / "demo.png") is None
    assert not (tmp_path / "demo.png").exists()
    assert "cannot be seen" in demo_chart.why_no_picture(unseen)
