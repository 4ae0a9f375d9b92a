"""The command line, as a user meets it: the installed program, its output, its exit status."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import PROGRAM, run, run_json

VERBS = (["info"], ["check"], ["convert"], ["bench", "io"], ["env"])


@pytest.fixture
def array(tmp_path: Path) -> tuple[Path, np.ndarray]:
    values = np.random.default_rng(0).standard_normal((300, 40)).astype("f4")
    np.save(tmp_path / "x.npy", values)
    return tmp_path / "x.npy", values


def crc32c(data: bytes) -> str:
    """By the bit, from the definition (RFC 3720)."""
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    return f"{value ^ 0xFFFFFFFF:08x}"


# Every verb


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_fits_80_columns_and_ends_with_an_example(verb: list[str]) -> None:
    done = run(*verb, "--help")
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert f"  lowtide {' '.join(verb)}" in done.stdout[done.stdout.index("Example:") :]
    for option in ("--json", "--budget", "--quiet", "--verbose"):
        assert option in done.stdout


def test_version_is_the_packages() -> None:
    import lowtide

    assert run("--version").stdout.split() == ["lowtide", lowtide.__version__]
    assert run("-V").stdout == run("--version").stdout


@pytest.mark.parametrize(
    "args",
    [[], ["frobnicate"], ["info"], ["info", "x", "--frobnicate"], ["bench"], ["convert", "only_one"], ["--frobnicate"]],
    ids=lambda args: " ".join(args) or "nothing",
)
def test_wrong_use_is_exit_2_with_a_line_and_a_hint(args: list[str]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    first, hint = done.stderr.splitlines()
    assert first.startswith("lowtide: ")
    assert hint.startswith("  hint: ")


@pytest.mark.parametrize("args", [["info"], ["check"], ["convert", "x.npy"], ["bench", "io"], ["env"]], ids=" ".join)
def test_a_dash_is_no_file_and_says_what_to_type(args: list[str]) -> None:
    done = run(*args, "-")
    assert done.returncode == 2
    first, hint = done.stderr.splitlines()
    assert "- is no file" in first
    assert "lowtide info x.npy" in hint


@pytest.mark.parametrize("option", ["--block", "--eot"])
@pytest.mark.parametrize("number", ["-5", "1.5", "many", "99999999999999999999999"])
def test_a_count_that_is_none_is_wrong_use(option: str, number: str, tmp_path: Path) -> None:
    np.arange(1000, dtype=np.uint16).tofile(tmp_path / "t.bin")
    done = run("info", "--tokens", tmp_path / "t.bin", option, number)
    assert done.returncode == 2
    assert f"{option} {number}: not a whole number" in done.stderr
    assert f"{option} 1024" in done.stderr
    assert run("info", "--tokens", tmp_path / "t.bin", "--block", "0").returncode == 2


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    script = f"""source <({PROGRAM} completion)
COMP_WORDS=(lowtide "$@"); COMP_CWORD=$#
_lowtide; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_verbs_and_options() -> None:
    assert completed("co") == ["convert", "completion"]
    assert completed("convert", "x.npy", "--fo") == ["--format", "--force"]
    assert completed("info", "--bl") == ["--block"]
    assert completed("bench", "i") == ["io"]
    assert "--json" in completed("bench", "io", "--")
    assert completed("info", "x") == []  # a file's name, then


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_missing_file_is_exit_1_and_one_line(verb: list[str], tmp_path: Path) -> None:
    out = [tmp_path / "out.npy"] if verb == ["convert"] else []
    done = run(*verb, tmp_path / "missing.npy", *out)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("lowtide: ")
    assert "missing.npy: No such file or directory" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("budget", ["12zz", "-1", "200%"])
def test_a_budget_that_is_no_size_is_wrong_use(budget: str, array: tuple[Path, np.ndarray]) -> None:
    done = run("check", array[0], "--budget", budget)
    assert done.returncode == 2


def test_settings_that_mean_nothing_are_wrong_use(array: tuple[Path, np.ndarray]) -> None:
    assert run("info", array[0], LOWTIDE_IO="fast").returncode == 2
    assert run("env", LOWTIDE_BUDGET="much").returncode == 2


def test_quiet_prints_nothing(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    for args in (["info", array[0]], ["check", array[0]], ["convert", array[0], tmp_path / "y.npy"], ["env"]):
        done = run(*args, "-q")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_colour_without_a_terminal(array: tuple[Path, np.ndarray]) -> None:
    assert "\x1b" not in run("info", array[0]).stdout + run("env").stdout


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colour_on_a_terminal_unless_told_not_to(no_color: str, array: tuple[Path, np.ndarray]) -> None:
    parent, child = pty.openpty()
    env = os.environ | {"NO_COLOR": no_color, "TERM": "xterm"}
    subprocess.run([PROGRAM, "info", array[0]], stdout=child, env=env, timeout=60, check=True)
    os.close(child)
    shown = os.read(parent, 65536).decode()
    os.close(parent)
    assert ("\x1b[1m" in shown) == (no_color == "")


def test_an_error_is_json_too_when_asked(tmp_path: Path) -> None:
    answer = run_json("convert", tmp_path / "missing.npy", tmp_path / "y.npy", status=1)
    assert answer["error"]["kind"] == "IoError"


def test_a_full_standard_output_is_a_problem(array: tuple[Path, np.ndarray]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "info", array[0]], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert "cannot write to standard output" in done.stderr


# info


def test_info_says_what_numpy_says(tmp_path: Path) -> None:
    arrays = {
        "c.npy": np.zeros((3, 4, 5), "i2"),
        "f.npy": np.asfortranarray(np.zeros((3, 4), "c16")),
        "big.npy": np.zeros(7, ">f8"),
        "scalar.npy": np.array(3.5),
        "empty.npy": np.zeros((0, 3), "?"),
    }
    for name, a in arrays.items():
        np.save(tmp_path / name, a)
    files = run_json("info", *(tmp_path / name for name in arrays))["files"]
    for file, (name, a) in zip(files, arrays.items(), strict=True):
        assert file["path"] == str(tmp_path / name)
        assert (file["format"], tuple(file["shape"]), file["dtype"]) == ("npy", a.shape, a.dtype.name)
        assert file["order"] == ("F" if np.isfortran(a) else "C")
        assert file["endian"] == ("big" if a.dtype.byteorder == ">" else "little")
        assert file["data_bytes"] == a.nbytes
        assert file["data_offset"] + a.nbytes == file["file_bytes"] == (tmp_path / name).stat().st_size
        assert file["least_budget_bytes"] < 2 << 20


def test_info_of_raw_bytes_says_what_would_fit_and_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(bytes(6))
    (file,) = run_json("info", path)["files"]
    assert file["format"] is None
    assert {"uint8", "uint16", "float16"} <= set(file["dividing_dtypes"])
    assert "uint32" not in file["dividing_dtypes"]
    assert run(*file["hint"].split()[1:]).returncode == 0


def test_info_of_a_raw_file_as_told(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(bytes(2 + 24))
    (file,) = run_json("info", path, "--dtype", ">u2", "--shape", "-1,3", "--offset", "2", "--order", "F")["files"]
    assert (file["shape"], file["endian"], file["order"], file["data_offset"]) == ([4, 3], "big", "F", 2)


def test_info_goes_on_after_a_bad_file(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    bad = tmp_path / "bad.npy"
    bad.write_bytes(array[0].read_bytes()[:1000])
    first, second = run_json("info", bad, array[0], status=1)["files"]
    assert first["error"]["kind"] == "FormatError"
    assert second["shape"] == [300, 40]


def test_info_reports_the_mode_it_was_told(array: tuple[Path, np.ndarray]) -> None:
    (file,) = run_json("info", array[0], LOWTIDE_IO="buffered")["files"]
    assert (file["io_mode"], file["io_reason"]) == ("buffered", "LOWTIDE_IO=buffered")


@pytest.mark.parametrize("shape", ["3,,4", "a", "-2", "3.5"])
def test_a_shape_that_is_none_is_wrong_use(shape: str, tmp_path: Path) -> None:
    (tmp_path / "t.bin").write_bytes(bytes(24))
    done = run("info", tmp_path / "t.bin", "--dtype", "u2", f"--shape={shape}")
    assert done.returncode == 2
    assert "hint" in done.stderr


# check


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<c8", "<i4", ">u2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_check_sums_the_bytes_as_they_are_in_the_file(dtype: str, order: str, tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 2, (37, 53)).astype(dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    (file,) = run_json("check", tmp_path / "x.npy", "--budget", "1MiB")["files"]
    assert file["ok"]
    assert file["crc32c"] == crc32c((tmp_path / "x.npy").read_bytes()[-values.nbytes :])


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "c8", "c16"])
def test_check_counts_nan_and_infinity_as_numpy_does(dtype: str, tmp_path: Path) -> None:
    values = np.random.default_rng(2).choice([0.0, 1.5, np.nan, np.inf, -np.inf], 10_001).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    (file,) = run_json("check", tmp_path / "x.npy")["files"]
    assert (file["nan_count"], file["inf_count"]) == (np.isnan(values).sum(), np.isinf(values).sum())


def test_check_says_what_is_wrong_on_standard_error(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    whole = array[0].read_bytes()
    bad = {
        "cut.npy": (whole[:-1], "1 too few"),
        "longer.npy": (whole + b"abc", "3 bytes after the end of the data"),
        "two.npy": (whole + whole, "another npy header"),
        "header.npy": (whole.replace(b"'shape'", b"'shoop'"), "not a valid .npy header"),
        "zeros.npy": (bytes(100), "no header that lowtide knows"),
    }
    for name, (content, words) in bad.items():
        (tmp_path / name).write_bytes(content)
        done = run("check", tmp_path / name)
        assert done.returncode == 1
        assert done.stderr.startswith(f"lowtide: {tmp_path / name}")
        assert words in done.stderr
        (file,) = run_json("check", tmp_path / name, status=1)["files"]
        assert not file["ok"]
        assert words in file["problems"][0]["message"]


def test_check_finds_booleans_that_are_neither(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    done = run("check", tmp_path / "b.bin", "--dtype", "bool")
    assert done.returncode == 1
    assert "1 of 3 booleans" in done.stderr


def test_check_streams_one_long_row_in_a_small_budget(tmp_path: Path) -> None:
    np.save(tmp_path / "row.npy", np.ones((1, 4 << 20), "f4"))
    (file,) = run_json("check", tmp_path / "row.npy", "--budget", "1MiB")["files"]
    assert file["ok"]


def test_what_the_budget_cannot_hold_is_refused_with_a_budget_to_type(array: tuple[Path, np.ndarray]) -> None:
    done = run("check", array[0], "--budget", "4KiB")
    assert done.returncode == 1
    assert "the budget is 4 KiB" in done.stderr
    assert "add --budget 16MiB" in done.stderr


# bench io


def test_bench_io_measures_each_mode_that_works_and_says_why_not_of_others(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(os.urandom(8 << 20))
    answer = run_json("bench", "io", path, "--seconds", "0.05")
    assert [m["mode"] for m in answer["modes"]] == ["uring", "threads", "dontcache", "buffered"]
    for mode in answer["modes"]:
        if mode["works"]:
            assert mode["sequential_1mib"]["mib_per_s"] > 0
            assert mode["random_4kib"]["iops"] > 0
        else:
            assert mode["reason"]
    works = [m["mode"] for m in answer["modes"] if m["works"]]
    assert answer["chosen"]["mode"] == works[0]
    assert "buffered" in works


def test_bench_io_prints_a_table_of_80_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(os.urandom(2 << 20))
    done = run("bench", "io", path, "--seconds", "0.01", LOWTIDE_IO="buffered")
    assert done.returncode == 0
    rows = [line for line in done.stdout.splitlines() if "IOPS" in line]
    assert rows
    assert max(map(len, rows)) <= 80
    assert "<- chosen" in rows[-1]
    assert "LOWTIDE_IO=buffered" in done.stdout


def test_bench_io_needs_a_file_worth_measuring_and_memory(array: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    assert run("bench", "io", array[0]).returncode == 2
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(2 << 20))
    done = run("bench", "io", path, "--budget", "1MiB")
    assert done.returncode == 1
    hint = re.search(r"--budget (\d+MiB)", done.stderr)
    assert hint
    done = run("bench", "io", path, "--seconds", "0.01", "--budget", hint[1])
    assert done.returncode == 0, done.stderr
    assert run("bench", "io", path, "--seconds", "0.01", "--budget", "16MiB").returncode == 1


# env


def test_env_says_what_a_bug_report_needs(tmp_path: Path) -> None:
    answer = run_json("env", tmp_path, "--budget", "64MiB")
    assert answer["budget_bytes"] == 64 << 20
    assert answer["budget_source"] == "--budget"
    assert os.uname().release in answer["kernel"]
    assert answer["cpus"]["usable"] == len(os.sched_getaffinity(0))
    for feature in ("io_uring", "o_direct", "rwf_dontcache", "cachestat"):
        assert answer[feature]["works"] or answer[feature]["reason"]
    assert answer["io_mode"] in ("uring", "threads", "dontcache", "buffered")
    assert list(tmp_path.iterdir()) == []


def test_env_names_the_budgets_source() -> None:
    assert run_json("env", LOWTIDE_BUDGET="32MiB")["budget_source"] == "LOWTIDE_BUDGET"
    assert run_json("env")["budget_source"].startswith("half of ")
