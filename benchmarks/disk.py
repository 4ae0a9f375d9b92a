"""The files that are measured and the disk below them: made, cooled, watched, and put back as they were."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
COLUMNS = 1024  # float32: a row is 4 KiB
ROW_BYTES = 4 * COLUMNS
HEADER_BYTES = 128  # of every .npy file written here
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_CACHESTAT = 451  # Linux 6.5


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`, such as "ext4"."""
    best, kind = "", "unknown"
    resolved = str(path.resolve())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, this_kind = line.split()[:3]
        inside = resolved == where or resolved.startswith(where.rstrip("/") + "/")
        if inside and len(where) >= len(best):
            best, kind = where, this_kind
    return kind


def default_folder() -> Path:
    """A folder on a real disk: the system's temporary folder, or /var/tmp where that one is memory."""
    for parent in (Path(tempfile.gettempdir()), Path("/var/tmp")):
        if file_system(parent) not in MEMORY_FILE_SYSTEMS:
            return parent / "lowtide-benchmarks"
    raise SystemExit("no temporary folder is on a disk: name one with --dir")


def make_npy(path: Path, size_bytes: int, columns: int = COLUMNS, dtype: str = "<f4") -> None:
    """An .npy file of random rows, on disk and out of the page cache; kept if it is there already."""
    row_bytes = columns * np.dtype(dtype).itemsize
    rows = size_bytes // row_bytes
    if path.exists() and path.stat().st_size == HEADER_BYTES + rows * row_bytes:
        return
    random = np.random.default_rng(0)
    block = max(1, (16 << 20) // row_bytes)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": (rows, columns)})
        if file.tell() != HEADER_BYTES:
            raise AssertionError(f"NumPy wrote a header of {file.tell()} bytes, not {HEADER_BYTES}")
        for start in range(0, rows, block):
            file.write(random.random((min(block, rows - start), columns), dtype=np.dtype(dtype).type).tobytes())
        file.flush()
        os.fsync(file.fileno())
    make_cold(path)


def make_tokens(path: Path, size_bytes: int) -> None:
    """A headerless uint16 file, like a tokenised corpus."""
    if path.exists() and path.stat().st_size == size_bytes:
        return
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, size_bytes, 16 * MIB):
            file.write(random.bytes(min(16 * MIB, size_bytes - start)))
        file.flush()
        os.fsync(file.fileno())


def cached_bytes(path: Path) -> int | None:
    """How much of the file the page cache holds; None where the kernel does not tell."""
    span, counts = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()  # a length of 0 means to the end
    descriptor = os.open(path, os.O_RDONLY)
    try:
        failed = ctypes.CDLL(None, use_errno=True).syscall(_CACHESTAT, descriptor, span, counts, 0)
    finally:
        os.close(descriptor)
    return _cached_by_mincore(path) if failed else counts[0] * PAGE_BYTES


def _cached_by_mincore(path: Path) -> int | None:
    """As cached_bytes, before Linux 6.5 and where containers forbid cachestat(2)."""
    if path.stat().st_size == 0:
        return 0
    mapped = np.memmap(path, np.uint8, "r")
    flags = np.zeros(-(-mapped.size // PAGE_BYTES), np.uint8)
    address, length = ctypes.c_void_p(mapped.ctypes.data), ctypes.c_size_t(mapped.size)
    failed = ctypes.CDLL(None, use_errno=True).mincore(address, length, ctypes.c_void_p(flags.ctypes.data))
    return None if failed else int((flags & 1).sum()) * PAGE_BYTES


def make_cold(path: Path) -> None:
    """Take the file out of the page cache, and the file system's own caches too where that is allowed."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    drop = Path("/proc/sys/vm/drop_caches")
    if os.access(drop, os.W_OK):
        drop.write_text("3")
    left = cached_bytes(path)
    if left:
        raise RuntimeError(f"{path} is still in the page cache ({left} bytes): something else has it mapped or dirty")


def make_warm(path: Path) -> None:
    """Read the file into the page cache, all of it."""
    with path.open("rb", buffering=0) as file:
        while file.read(4 * MIB):
            pass


class Device:
    """The block device that holds a folder. All of it is None or unchanged where /sys does not show one."""

    def __init__(self, folder: Path) -> None:
        number = folder.stat().st_dev
        link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        self.root = link.resolve() if link.exists() else None
        if self.root is not None and (self.root / "partition").exists():
            self.root = self.root.parent
        self.name = self.root.name if self.root else "unknown"

    def _read_ahead_file(self) -> Path | None:
        return self.root / "queue" / "read_ahead_kb" if self.root else None

    @property
    def read_ahead_kib(self) -> int | None:
        """What the kernel reads ahead of a map or a buffered read, in KiB."""
        file = self._read_ahead_file()
        return int(file.read_text()) if file and file.exists() else None

    @contextmanager
    def read_ahead(self, kib: int) -> Iterator[None]:
        """Linux's default read-ahead while a peer that depends on it runs; the machine's own setting afterwards."""
        file, before = self._read_ahead_file(), self.read_ahead_kib
        if file is None or before in (None, kib) or not os.access(file, os.W_OK):
            yield
            return
        file.write_text(str(kib))
        try:
            yield
        finally:
            file.write_text(str(before))

    def can_set_read_ahead(self) -> bool:
        """Whether read_ahead() has an effect."""
        file = self._read_ahead_file()
        return file is not None and os.access(file, os.W_OK)

    def reads(self) -> int | None:
        """Read requests the device has served since boot, for every process."""
        return int((self.root / "stat").read_text().split()[0]) if self.root else None


def have_fio() -> bool:
    """Whether the limit can be measured."""
    return shutil.which("fio") is not None


# What gets more out of the same disk: requests handed over and taken back in groups, for small ones.
GROUPED = {"iodepth_batch_submit": 16, "iodepth_batch_complete_max": 32, "gtod_reduce": 1}


def fio(*jobs: dict[str, Any], huge_pages: bool = False) -> list[dict[str, Any]]:
    """Run the jobs at once, each O_DIRECT through io_uring (libaio where rings are refused); fio's report on each.

    fio's buffers are of 4 KiB pages, so 1 MiB is 256 pieces to the kernel and the disk. Huge pages make it one, and
    can be faster; glibc 2.35 gives them to malloc when asked.
    """
    result = None
    environment = {**os.environ, **({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if huge_pages else {})}
    for engine in ("io_uring", "libaio"):
        command = ["fio", "--output-format=json", f"--ioengine={engine}", "--direct=1", "--randrepeat=0", "--thread"]
        for number, job in enumerate(jobs):
            command += [f"--name=job{number}", *(f"--{key}={value}" for key, value in job.items())]
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if result.returncode == 0:
            return json.loads(result.stdout[result.stdout.index("{") :])["jobs"]
    raise RuntimeError(f"fio failed: {result.stderr.strip() or result.stdout.strip()}")
