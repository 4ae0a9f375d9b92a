"""Memory of a process measured from outside: the peak of its own cgroup, page cache included, or else /proc.

    with find_meter(folder) as meter:
        process = subprocess.Popen([*meter.enter, *command])
        meter.start(process.pid)      # what is there now does not count
        ...
        meter.peak_growth()           # the most there was since, less what there was at the start, in bytes

The meter is the best that the machine allows; LOWTIDE_METER names one (cgroup1, cgroup2, proc).
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path

MIB = 1 << 20
PAGE = mmap.PAGESIZE
SETTLED_SECONDS = 0.02  # charges are batched for each CPU: 64 pages at most, given back within a tick or two


class Meter(ABC):
    name: str
    why = ""  # not a better one
    enter: tuple[str, ...] = ()  # what a command line begins with, so that the process is born where it is measured

    @abstractmethod
    def start(self, pid: int) -> None: ...

    @abstractmethod
    def peak_growth(self) -> int: ...

    def breakdown(self) -> dict[str, int]:
        """What there is now, in bytes, by kind: for the message of a failed test."""
        return {}

    def limit(self, growth: int) -> None:
        """From now on, the kernel allows no more than `growth` bytes above the start."""
        raise NotImplementedError(f"{self.name} cannot limit")

    def oom_kills(self) -> int:
        raise NotImplementedError(f"{self.name} cannot see kills")

    def close(self) -> None:  # noqa: B027 nothing to clean up unless a meter says so
        pass

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Sampler:
    """The highest value that a function had, looked at a thousand times a second."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self.highest = read()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.001):
            with contextlib.suppress(OSError, ProcessLookupError):
                self.highest = max(self.highest, self._read())

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self.highest


class Cgroup(Meter):
    """A child of the cgroup that the tests run in: whatever limits hold there hold here too."""

    usage_file: str
    limit_file: str

    def __init__(self, parent: Path) -> None:
        self.path = parent / f"lowtide-test-{os.getpid()}-{time.monotonic_ns()}"
        self.path.mkdir()
        self.enter = ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"))
        self.base = 0

    def usage(self) -> int:
        return int((self.path / self.usage_file).read_text())

    def start(self, pid: int) -> None:
        before, now = -1, self.usage()
        while before != now:
            time.sleep(SETTLED_SECONDS)
            before, now = now, self.usage()
        self.base = now

    def limit(self, growth: int) -> None:
        (self.path / self.limit_file).write_text(str(self.base + growth))

    def numbers(self, file: str) -> dict[str, int]:
        pairs = (line.split() for line in (self.path / file).read_text().splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}

    def close(self) -> None:
        for _ in range(3000):  # a process that has just ended leaves its cgroup a moment later
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.01)
        self.path.rmdir()


class CgroupV1(Cgroup):
    name = "cgroup1"
    usage_file = "memory.usage_in_bytes"
    limit_file = "memory.limit_in_bytes"

    def start(self, pid: int) -> None:
        super().start(pid)
        (self.path / "memory.max_usage_in_bytes").write_text("0")

    def peak_growth(self) -> int:
        return int((self.path / "memory.max_usage_in_bytes").read_text()) - self.base

    def breakdown(self) -> dict[str, int]:
        stat = self.numbers("memory.stat")
        kernel = int((self.path / "memory.kmem.usage_in_bytes").read_text())
        return {"anonymous": stat["rss"], "page cache": stat["cache"], "dirty": stat["dirty"], "kernel": kernel}

    def oom_kills(self) -> int:
        return self.numbers("memory.oom_control")["oom_kill"]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            (self.path / "memory.force_empty").write_text("0")
        super().close()


class CgroupV2(Cgroup):
    name = "cgroup2"
    usage_file = "memory.current"
    limit_file = "memory.max"

    def start(self, pid: int) -> None:
        super().start(pid)
        self._sampler = None
        try:  # since 6.12, what is written resets the peak for readers of the same descriptor
            self._peak = os.open(self.path / "memory.peak", os.O_RDWR | os.O_CLOEXEC)
            os.write(self._peak, b"reset")
        except OSError:
            self._sampler = Sampler(self.usage)

    def peak_growth(self) -> int:
        peak = self._sampler.stop() if self._sampler else int(os.pread(self._peak, 32, 0))
        return peak - self.base

    def breakdown(self) -> dict[str, int]:
        stat = self.numbers("memory.stat")
        names = {"anonymous": "anon", "page cache": "file", "dirty": "file_dirty", "kernel": "kernel"}
        return {kind: stat[name] for kind, name in names.items()}

    def oom_kills(self) -> int:
        return self.numbers("memory.events")["oom_kill"]

    def close(self) -> None:
        if getattr(self, "_peak", None) is not None:
            os.close(self._peak)
        super().close()


class Proc(Meter):
    """Memory of the process, plus the page cache of the files in a folder and of those it has open there."""

    name = "proc"

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def start(self, pid: int) -> None:
        self._pid = pid
        # 5: the high-water mark starts again from what is resident now.
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._resident = self._status("VmRSS")
        self._base = self._now()
        self._sampler = Sampler(self._now)

    def peak_growth(self) -> int:
        sampled = self._sampler.stop() - self._base
        return max(sampled, self._status("VmHWM") - self._resident)  # exact, and blind to the page cache

    def breakdown(self) -> dict[str, int]:
        return {"anonymous": self._status("RssAnon"), "page cache": sum(self._cached())}

    def _status(self, *names: str) -> int:
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.split(":")[0] in names)

    def _now(self) -> int:
        return self._status("RssAnon", "RssShmem") + sum(self._cached())

    def _cached(self) -> Iterator[int]:
        seen = set()
        for path in [*self.folder.iterdir(), *self._open_files()]:
            with contextlib.suppress(OSError):  # it was there a moment ago
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    inode = os.fstat(fd).st_ino
                    if inode not in seen:
                        seen.add(inode)
                        yield cached_bytes(fd)
                finally:
                    os.close(fd)

    def _open_files(self) -> Iterator[Path]:
        """Files under construction have no name, but their descriptors do."""
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{self._pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(link).startswith(str(self.folder)):
                        yield link


_libc = ctypes.CDLL(None, use_errno=True)
_NR_CACHESTAT = 451


def cached_bytes(fd: int) -> int:
    """How much of a file is in the page cache."""
    range_, counts = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    if _libc.syscall(_NR_CACHESTAT, fd, range_, counts, 0) == 0:
        return counts[0] * PAGE
    return cached_bytes_by_mincore(fd)  # before 6.5


def cached_bytes_by_mincore(fd: int) -> int:
    size = os.fstat(fd).st_size
    if size == 0:
        return 0
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        pages = (ctypes.c_ubyte * -(-size // PAGE))()
        if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(page & 1 for page in pages) * PAGE
    finally:
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))


def _own_cgroup(version: int) -> Path | None:
    """Where this process is in the hierarchy that accounts for memory; None if that is not mounted."""
    wanted = ("cgroup", "memory") if version == 1 else ("cgroup2", "")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == wanted[0] and (version == 2 or "memory" in options.split(",")):
            break
    else:
        return None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (version == 2 and controllers == "") or (version == 1 and "memory" in controllers.split(",")):
            # In a container the path may be the host's while only its own subtree is mounted.
            inside = Path(mount) / path.lstrip("/")
            return inside if inside.is_dir() else Path(mount)
    return None


def _try_cgroup1() -> Cgroup | str:
    parent = _own_cgroup(1)
    if parent is None:
        return "cgroup v1: no memory hierarchy is mounted"
    try:
        return CgroupV1(parent)
    except OSError as error:
        return f"cgroup v1: {parent} is not writable ({error.strerror})"


def _try_cgroup2() -> Cgroup | str:
    parent = _own_cgroup(2)
    if parent is None:
        return "cgroup v2: not mounted"
    try:
        if "memory" not in (parent / "cgroup.subtree_control").read_text().split():
            # Refused while the cgroup has processes of its own.
            (parent / "cgroup.subtree_control").write_text("+memory")
        return CgroupV2(parent)
    except OSError as error:
        return f"cgroup v2: {parent} gives its children no memory controller ({error.strerror})"


def find_meter(folder: Path) -> Meter:
    """The best meter there is."""
    wanted = os.environ.get("LOWTIDE_METER", "auto")
    reasons = []
    for name, attempt in {"cgroup2": _try_cgroup2, "cgroup1": _try_cgroup1}.items():
        if wanted not in (name, "auto"):
            continue
        found = attempt()
        if isinstance(found, Meter):
            return found
        reasons.append(found)
    if wanted not in ("proc", "auto"):
        raise RuntimeError("; ".join(reasons) or f"LOWTIDE_METER={wanted} is unknown")
    meter = Proc(folder)
    meter.why = "; ".join(reasons) or "LOWTIDE_METER=proc"
    return meter
