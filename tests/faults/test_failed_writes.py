"""A sync or a write that fails is reported, leaves no file, and is not forgotten by a second try."""

from pathlib import Path

import pytest
import subject

TWO_TRIES = """
    folder = arguments[0]
    target = os.path.join(folder, "y.npy")
    before = descriptors()
    w = lt.create(target, (100, 1024), "uint32", overwrite=arguments[1] == "overwrite")
    w[:] = rows(0, 100)
    for _ in range(2):
        try:
            w.close()
        except lt.IoError as error:
            assert error.errno == errno.EIO, error
            assert target in str(error)
        else:
            raise AssertionError("the failure is forgotten")
    w.discard()
    del w
    assert held() == 0
    assert descriptors() <= before + 4
    print(sorted(os.listdir(folder)))
"""


def test_a_failed_data_sync_leaves_no_file(tmp_path: Path, mode: str) -> None:
    said = subject.check(TWO_TRIES, tmp_path, "new", mode=mode, wrapper=subject.strace("fdatasync:error=EIO:when=1"))
    assert said.strip() == "[]"


def test_a_failed_data_sync_keeps_the_old_file(tmp_path: Path, mode: str) -> None:
    (tmp_path / "y.npy").write_bytes(b"old")
    wrapper = subject.strace("fdatasync:error=EIO:when=1")
    said = subject.check(TWO_TRIES, tmp_path, "overwrite", mode=mode, wrapper=wrapper)
    assert said.strip() == "['y.npy']"
    assert (tmp_path / "y.npy").read_bytes() == b"old"


def test_a_failed_folder_sync_leaves_no_new_name(tmp_path: Path) -> None:
    said = subject.check(TWO_TRIES, tmp_path, "new", wrapper=subject.strace("fsync:error=EIO:when=1"))
    assert said.strip() == "[]"


def test_a_failed_folder_sync_after_an_overwrite_leaves_one_whole_file(tmp_path: Path) -> None:
    (tmp_path / "y.npy").write_bytes(b"old")
    said = subject.check(TWO_TRIES, tmp_path, "overwrite", wrapper=subject.strace("fsync:error=EIO:when=1"))
    assert said.strip() == "['y.npy']"
    subject.check("assert np.array_equal(lt.open(arguments[0]).compute(), rows(0, 100))", tmp_path / "y.npy")


@pytest.mark.parametrize("call", ["fdatasync", "fsync", "ftruncate", "fallocate", "linkat"])
def test_save_reports_and_leaves_no_file(tmp_path: Path, call: str) -> None:
    code = """
        try:
            lt.save(arguments[0], rows(0, 100))
        except lt.IoError as error:
            assert error.errno == errno.EIO, error
        else:
            raise AssertionError("no error")
        assert held() == 0
    """
    subject.check(code, tmp_path / "y.npy", wrapper=subject.strace(f"{call}:error=EIO"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["rename", "fdatasync", "linkat"])
def test_a_failed_overwrite_leaves_the_old_file_alone(tmp_path: Path, call: str) -> None:
    (tmp_path / "y.npy").write_bytes(b"old")
    code = """
        try:
            lt.save(arguments[0], rows(0, 100), overwrite=True)
        except lt.IoError as error:
            assert error.errno == errno.EIO, error
        else:
            raise AssertionError("no error")
    """
    subject.check(code, tmp_path / "y.npy", wrapper=subject.strace(f"{call}:error=EIO"))
    assert [path.name for path in tmp_path.iterdir()] == ["y.npy"]
    assert (tmp_path / "y.npy").read_bytes() == b"old"


@pytest.mark.parametrize("then", ["append", "assign", "close"])
def test_a_writer_that_failed_half_way_does_not_go_on(tmp_path: Path, mode: str, then: str) -> None:
    """One block of an append is lost; going on would shift or drop rows without a word."""
    code = """
        from lowtide import _core
        w = lt.create(arguments[0], (0, 1024), "uint32")
        w.append(rows(0, 100))
        _core.set_fault(_core.FaultStage.complete, 2, errno.EIO, False)
        try:
            w.append(rows(100, 16000))
        except lt.IoError as error:
            assert error.errno == errno.EIO
        else:
            raise AssertionError("no error")
        _core.clear_fault()
        for _ in range(2):
            try:
                if arguments[1] == "append":
                    w.append(rows(100, 200))
                elif arguments[1] == "assign":
                    w[:50] = 0
                w.close()
            except lt.IoError as error:
                assert "begin again" in str(error), error
            else:
                raise AssertionError("the failure is forgotten")
    """
    subject.check(code, tmp_path / "y.npy", then, mode=mode)
    assert list(tmp_path.iterdir()) == []


def test_flush_of_a_file_whose_sync_failed_fails_for_good(array_path: Path, mode: str) -> None:
    code = """
        a = lt.open(arguments[0], mode="r+")
        a[3] = 1
        for _ in range(2):
            try:
                a.flush()
            except lt.IoError as error:
                assert error.errno == errno.EIO
            else:
                raise AssertionError("the failure is forgotten")
    """
    subject.check(code, array_path, mode=mode, wrapper=subject.strace("fdatasync:error=EIO:when=1"))
