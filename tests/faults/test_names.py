"""Names that cannot be, and what a killed save left under one."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import subject

import lowtide as lt

WAYS: dict[str, Any] = {
    "save": lambda path: lt.save(path, np.ones(3)),
    "create": lambda path: lt.create(path, (3,)),
    "open": lambda path: lt.open(path, dtype="u1"),
    "memmap": lambda path: lt.memmap(path, mode="r"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_null_byte_in_a_path_is_a_value_error(tmp_path: Path, way: str) -> None:
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(ValueError, match="null byte"):
        WAYS[way](str(tmp_path / "x.npy") + "\0.bin")
    assert os.listdir(tmp_path) == ["x.npy"]


def test_a_loop_of_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="cannot create") as caught:
        lt.save("a", np.ones(3), overwrite=True, format="raw")
    assert caught.value.errno == errno.ELOOP
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot create") as caught:
        lt.create(tmp_path / ("x" * 256 + ".npy"), (3,))
    assert caught.value.errno == errno.ENAMETOOLONG


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_name_as_long_as_names_may_be_is_saved_to(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / ("x" * 251 + ".npy")
    if overwrite:
        np.save(path, np.zeros(3))
    lt.save(path, np.ones(3), overwrite=overwrite)
    assert np.load(path).sum() == 3
    assert os.listdir(tmp_path) == [path.name]


def hidden_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.0.lowtide-tmp")


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    hidden_of(path).write_bytes(bytes(1000))
    lt.save(path, np.ones(3))
    assert os.listdir(tmp_path) == ["y.npy"]


def test_what_a_living_save_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    np.save(path, np.zeros(3))
    with hidden_of(path).open("wb") as at_work:
        fcntl.flock(at_work, fcntl.LOCK_EX)
        lt.save(path, np.ones(3), overwrite=True)
        assert hidden_of(path).exists()
    assert np.load(path).sum() == 3


def test_without_unnamed_files_a_killed_save_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
    """Some file systems have no O_TMPFILE: all of the bytes have a hidden name while they are written."""
    code = """
        writer = lt.create(arguments[0], (1000, 1000))
        writer[:500] = 1
        os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "y.npy"
    wrapper = subject.strace("openat:error=EOPNOTSUPP", path=tmp_path)
    subject.run(code, path, wrapper=wrapper)
    left = os.listdir(tmp_path)
    assert [name for name in left if name.endswith("lowtide-tmp")] == left != []
    lt.save(path, np.ones(3))
    assert os.listdir(tmp_path) == ["y.npy"]


@pytest.mark.parametrize("name", [b"plain.npy", b"not utf-8 \xff\xfe.npy"])
@pytest.mark.parametrize("given", ["bytes", "str"])
def test_a_path_may_be_bytes_and_need_not_be_utf_8(tmp_path: Path, name: bytes, given: str) -> None:
    folder = os.fsencode(tmp_path)
    path: Any = os.path.join(folder, name)
    path = path if given == "bytes" else os.fsdecode(path)
    lt.save(path, np.arange(6))
    assert os.listdir(folder) == [name]
    array = lt.open(path)
    assert array.path == os.fsdecode(os.path.join(folder, name))
    assert array.compute().tolist() == [0, 1, 2, 3, 4, 5]
    assert lt.memmap(path, "i8", "r", offset=4096)[2] == 2
    with pytest.raises(FileExistsError) as caught:
        lt.create(path, (3,))
    assert caught.value.filename == array.path
    os.unlink(path)
    with pytest.raises(FileNotFoundError):
        lt.open(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for mode in ("r", "r+", "w+"):
        with pytest.raises(OSError, match="pipe"):
            lt.memmap(pipe, "u1", mode, shape=(3,))
