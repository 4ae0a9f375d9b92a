"""lowtide convert: every round trip against NumPy, nothing lost and nothing left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from command import PROGRAM, run, run_json


@pytest.fixture
def array(tmp_path: Path) -> tuple[Path, np.ndarray]:
    values = np.random.default_rng(0).standard_normal((300, 40)).astype("f4")
    np.save(tmp_path / "x.npy", values)
    return tmp_path / "x.npy", values


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", ">i4", "i8", "f2", ">f4", "f8", "c8", ">c16"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("to_order", ["C", "F"])
def test_convert_npy_to_raw_and_back(dtype: str, order: str, to_order: str, tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(0, 100, (31, 7, 5)).astype(dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    assert run("convert", tmp_path / "x.npy", tmp_path / "x.bin", "--order", to_order).returncode == 0
    native = values.dtype.newbyteorder("=")
    assert (tmp_path / "x.bin").read_bytes() == values.astype(native).tobytes(order=to_order)
    back = ["--in-dtype", native.name, "--shape", "31,-1,5", "--in-order", to_order]
    answer = run_json("convert", tmp_path / "x.bin", tmp_path / "y.npy", *back)
    assert answer["output"]["order"] == to_order
    result = np.load(tmp_path / "y.npy")
    assert np.isfortran(result) == (to_order == "F")
    np.testing.assert_array_equal(result, values)
    assert result.dtype == native


@pytest.mark.parametrize(
    ("start", "to"), [("f8", "f4"), ("i4", "u1"), ("f4", "i2"), ("u2", "f2"), ("f4", "c16"), ("?", "i8")]
)
def test_convert_casts_as_astype(start: str, to: str, tmp_path: Path) -> None:
    values = np.random.default_rng(4).integers(0, 300, (100, 30)).astype(start)
    np.save(tmp_path / "x.npy", values)
    assert run("convert", tmp_path / "x.npy", tmp_path / "y.npy", "--dtype", to).returncode == 0
    result = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(result, values.astype(to))
    assert result.dtype == np.dtype(to)


@pytest.mark.parametrize(
    "values", [np.array(2.5), np.zeros((0, 3), "i2"), np.arange(5)], ids=["scalar", "empty", "1-d"]
)
def test_convert_keeps_odd_shapes(values: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", values)
    assert run("convert", tmp_path / "x.npy", tmp_path / "y.npy").returncode == 0
    result = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(result, values)
    assert result.dtype == values.dtype


def test_convert_says_how_to_open_the_raw_file_it_made(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.zeros((3, 4), "f4")))
    done = run("convert", tmp_path / "x.npy", tmp_path / "x.bin")
    (line,) = [line for line in done.stdout.splitlines() if "open it" in line]
    (file,) = run_json(*line.split("lowtide ", 1)[1].split())["files"]
    assert (file["shape"], file["dtype"], file["order"]) == ([3, 4], "float32", "F")


def test_convert_format_overrules_the_name(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    assert run("convert", array[0], tmp_path / "y.dat", "--format", "npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.dat"), array[1])
    assert run("convert", array[0], tmp_path / "z.dat", "--format", "hdf5").returncode == 2


def test_convert_overwrites_only_by_force(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    out = tmp_path / "y.npy"
    out.write_bytes(b"precious")
    done = run("convert", array[0], out)
    assert done.returncode == 1
    assert done.stderr == f"lowtide: {out} exists already\n  hint: add --force to replace it\n"
    assert out.read_bytes() == b"precious"
    assert run("convert", array[0], out, "--force").returncode == 0
    np.testing.assert_array_equal(np.load(out), array[1])


def test_convert_onto_itself_by_force(array: tuple[Path, np.ndarray]) -> None:
    assert run("convert", array[0], array[0], "--dtype", "f8", "--force").returncode == 0
    np.testing.assert_array_equal(np.load(array[0]), array[1].astype("f8"))


def test_convert_holds_no_more_than_its_budget(tmp_path: Path) -> None:
    values = np.random.default_rng(5).standard_normal((4096, 1024))
    np.save(tmp_path / "x.npy", values)
    answer = run_json("convert", tmp_path / "x.npy", tmp_path / "y.npy", "--order", "F", "--budget", "4MiB")
    assert answer["budget_bytes"] == 4 << 20
    assert answer["peak_held_bytes"] <= 4 << 20
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy", mmap_mode="r"), values)


def test_convert_that_cannot_fit_makes_no_file(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    done = run("convert", array[0], tmp_path / "y.npy", "--budget", "16KiB")
    assert done.returncode == 1
    assert "--budget 16MiB" in done.stderr
    assert not (tmp_path / "y.npy").exists()


def slow_input(folder: Path) -> Path:
    """A sparse file: it costs no disk, and bringing it into the other order takes far longer than these tests wait."""
    with open(folder / "x.bin", "wb") as f:
        f.truncate(1 << 30)
    return folder / "x.bin"


def slow_convert(folder: Path) -> list[str | Path]:
    raw = ["--in-dtype", "u1", "--shape", "65536,-1"]
    return ["convert", folder / "x.bin", folder / "y.npy", *raw, "--order", "F", "--budget", "16MiB"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("existing", [False, True], ids=["new", "replaced"])
def test_ctrl_c_during_a_convert_leaves_nothing(number: int, status: int, existing: bool, tmp_path: Path) -> None:
    before = {slow_input(tmp_path)}
    if existing:
        (tmp_path / "y.npy").write_bytes(b"precious")
        before.add(tmp_path / "y.npy")
    process = subprocess.Popen([PROGRAM, *slow_convert(tmp_path), "--force"], stderr=subprocess.PIPE, text=True)
    try:
        wait_for_output(process.pid, tmp_path)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == status
    assert stderr == "lowtide: interrupted\n"
    assert set(tmp_path.iterdir()) == before
    if existing:
        assert (tmp_path / "y.npy").read_bytes() == b"precious"


def wait_for_output(pid: int, folder: Path) -> None:
    """Returns once the process has made the file that it writes to, which has no name yet or a hidden one."""
    for _ in range(3000):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                path = link.readlink()
                if path.is_relative_to(folder) and path.name not in ("x.bin", "y.npy"):
                    return
        time.sleep(0.01)
    raise AssertionError("it does not start")


def test_the_progress_bar_shows_on_a_terminal_after_a_second_and_goes_away(tmp_path: Path) -> None:
    slow_input(tmp_path)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([PROGRAM, *slow_convert(tmp_path)], stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    try:
        shown = ""
        while shown.count("held") < 3:
            shown += os.read(parent, 4096).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130
        shown += os.read(parent, 65536).decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    bars = shown.split("\r\x1b[K")
    assert max(map(len, bars[1:-1])) < 80
    assert "GiB/s" in bars[1]
    assert re.search(r"  (\d+:\d\d|-:--) left  ", bars[1])
    assert "of 16 MiB held" in bars[1]
    assert "held" not in bars[-1]
    assert "interrupted" in bars[-1]


def test_convert_refuses_a_name_that_promises_another_format(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    refused = run("convert", tmp_path / "x.npy", tmp_path / "out.zarr")
    assert refused.returncode == 1
    assert "does not write .zarr" in refused.stderr
    assert "--format raw" in refused.stderr
    assert not (tmp_path / "out.zarr").exists()
