"""System calls that do part of the work, or say "again": the results stay right."""

import shutil
import subprocess
from pathlib import Path

import pytest
import subject

READ_ALL_WAYS = """
    lt.set_budget("24MiB")
    a = lt.open(arguments[0])
    assert a.shape == (4096, 1024)
    assert np.array_equal(a.compute(), rows(0, 4096))
    gc.collect()
    picked = np.random.default_rng(1).permutation(4096)[:1500]
    assert np.array_equal(a.read(picked), rows(0, 4096)[picked])
    assert np.array_equal(a.read((slice(None), slice(5, None, 100))), rows(0, 4096)[:, 5::100])
    for start, block in a.blocks():
        assert np.array_equal(block, rows(start, start + len(block)))
    del block
    assert held() == 0
    print(a._core.io_mode)
"""
WRITE_ALL_WAYS = """
    values = rows(0, 4096)
    lt.save(arguments[0], values)
    assert np.array_equal(np.load(arguments[0]), values)
    with lt.create(arguments[0], (0, 1024), "uint32", overwrite=True) as w:
        for start in range(0, 4096, 300):
            w.append(values[start:start + 300])
    assert np.array_equal(np.load(arguments[0]), values)
    a = lt.open(arguments[0], mode="r+")
    a[100:3000:7] = 0
    values[100:3000:7] = 0
    a.flush()
    assert np.array_equal(np.load(arguments[0]), values)
    assert held() == 0
"""

INJECTED = [
    ("threads", "pread64:error=EINTR:when=1+2"),
    ("threads", "pread64:error=EAGAIN:when=1+2"),
    ("dontcache", "preadv2:error=EINTR:when=1+2"),
    ("dontcache", "preadv2:error=EAGAIN:when=2+2"),
    ("buffered", "pread64:error=EINTR:when=1+2"),
    ("buffered", "pread64:error=EAGAIN:when=1+2"),
    ("uring", "pread64:error=EINTR:when=1+2"),
]


@pytest.mark.parametrize(("mode", "injection"), INJECTED)
def test_reads_are_asked_again(array_path: Path, mode: str, injection: str) -> None:
    subject.check(READ_ALL_WAYS, array_path, mode=mode, wrapper=subject.strace(injection, path=array_path))


# strace does not make the call: an answer below a direct unit, or of nothing, promises no bytes that did not come.
@pytest.mark.parametrize(
    ("mode", "injection"),
    [("threads", "pread64:retval=100"), ("dontcache", "preadv2:retval=0"), ("buffered", "pread64:retval=0")],
)
def test_an_answer_without_a_whole_unit_is_asked_again(array_path: Path, mode: str, injection: str) -> None:
    code = "assert np.array_equal(lt.open(arguments[0]).read(slice(10, 13)), rows(10, 13))"
    wrapper = subject.strace(f"{injection}:when=2..3", path=array_path)
    subject.check(code, array_path, mode=mode, wrapper=wrapper)


@pytest.mark.parametrize("error", ["EAGAIN", "EINTR", "EBUSY"])
def test_a_ring_that_says_again_is_asked_again(array_path: Path, error: str) -> None:
    wrapper = subject.strace(f"io_uring_enter:error={error}:when=1+2")
    subject.check(READ_ALL_WAYS, array_path, mode="uring", wrapper=wrapper)


@pytest.mark.parametrize("error", ["EAGAIN", "EINTR"])
@pytest.mark.parametrize("mode", ["threads", "buffered", "dontcache"])
def test_writes_are_asked_again(tmp_path: Path, mode: str, error: str) -> None:
    wrapper = subject.strace(f"pwrite64:error={error}:when=2+2")
    subject.check(WRITE_ALL_WAYS, tmp_path / "y.npy", mode=mode, wrapper=wrapper)


def test_a_ring_that_says_again_writes_all(tmp_path: Path) -> None:
    wrapper = subject.strace("io_uring_enter:error=EINTR:when=1+2")
    subject.check(WRITE_ALL_WAYS, tmp_path / "y.npy", mode="uring", wrapper=wrapper)


# Reads and writes for real, and tells of a third of it (a whole unit at least); every fifth call is interrupted.
SHORT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>
static __thread unsigned calls;
static ssize_t cut(ssize_t n) { return n > 12288 ? n / 3 + 1 : n; }
#define SHORTEN(type, name, parameters, ...)                                    \
  type name parameters {                                                        \
    static type(*real) parameters;                                              \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);              \
    if (++calls % 5 == 0) { errno = EINTR; return -1; }                         \
    return cut(real(__VA_ARGS__));                                              \
  }
SHORTEN(ssize_t, pread, (int fd, void* p, size_t n, off_t at), fd, p, n, at)
SHORTEN(ssize_t, pread64, (int fd, void* p, size_t n, off_t at), fd, p, n, at)
SHORTEN(ssize_t, pwrite, (int fd, const void* p, size_t n, off_t at), fd, p, n, at)
SHORTEN(ssize_t, pwrite64, (int fd, const void* p, size_t n, off_t at), fd, p, n, at)
SHORTEN(ssize_t, preadv2, (int fd, const struct iovec* v, int n, off_t at, int flags), fd, v, n, at, flags)
SHORTEN(ssize_t, preadv64v2, (int fd, const struct iovec* v, int n, off_t at, int flags), fd, v, n, at, flags)
"""


@pytest.fixture(scope="module")
def shortening_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("short")
    (folder / "short.c").write_text(SHORT)
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", "short.so", "short.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "short.so"


def test_short_transfers_are_continued(array_path: Path, tmp_path: Path, mode: str, shortening_library: Path) -> None:
    env = {"LD_PRELOAD": str(shortening_library)}
    subject.check(READ_ALL_WAYS, array_path, mode=mode, env=env)
    subject.check(WRITE_ALL_WAYS, tmp_path / "y.npy", mode=mode, env=env)


def test_short_completions_of_a_ring_are_continued(array_path: Path, tmp_path: Path, mode: str) -> None:
    shorten = "from lowtide import _core; _core.set_fault(_core.FaultStage.complete, 1, 0, True)\n"
    # Each request of 1 MiB comes back a page at a time.
    subject.check(
        shorten + "assert np.array_equal(lt.open(arguments[0]).read(slice(0, 1000)), rows(0, 1000))",
        array_path,
        mode=mode,
    )
    subject.check(
        shorten + "lt.save(arguments[0], rows(0, 1000)); assert np.array_equal(np.load(arguments[0]), rows(0, 1000))",
        tmp_path / "y.npy",
        mode=mode,
    )
