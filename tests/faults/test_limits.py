"""Processes that may not have what they ask for: address space, descriptors, threads, locked memory, io_uring."""

import os
import shutil
from pathlib import Path

import pytest
import subject
from known_arrays import write_array

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")


def test_a_refused_mapping_is_a_memory_error_and_the_library_goes_on(
    array_path: Path, tmp_path: Path, mode: str
) -> None:
    write_array(tmp_path / "large.npy", 20_000)
    code = """
        lt.set_budget("1GiB")
        a, small = lt.open(arguments[0]), lt.open(arguments[1])
        small.read([7, 3])                       # threads and rings are there
        small.compute()
        status = open("/proc/self/status").read().split()
        now = 1024 * int(status[status.index("VmSize:") + 1])
        resource.setrlimit(resource.RLIMIT_AS, (now + (40 << 20), resource.RLIM_INFINITY))
        reads = {
            "compute": a.compute,
            "gather": lambda: a.read(np.arange(19_999, 0, -1)),
            "blocks": lambda: next(a.blocks(rows=19_000)),
            "strided blocks": lambda: next(a[:, ::2].blocks(rows=19_000)),
        }
        for name, read in reads.items():
            try:
                read()
            except MemoryError as error:
                assert not isinstance(error, lt.BudgetError), error
            else:
                raise AssertionError(name + " found memory that is not there")
            assert held() == 0, (name, lt.usage())
            assert np.array_equal(small.read([7, 3]), rows(0, 8)[[7, 3]])
        assert np.array_equal(small.read(slice(0, 1000)), rows(0, 1000))
        gc.collect()
        lt.save(arguments[2], small[:500])
        assert np.array_equal(np.load(arguments[2]), rows(0, 500))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert np.array_equal(a.compute(), rows(0, 20_000))
        assert held() == 0
    """
    subject.check(code, tmp_path / "large.npy", array_path, tmp_path / "y.npy", mode=mode)


MANY_FILES = """
    folder, count = arguments[0], 100
    for i in range(count):
        np.save(os.path.join(folder, f"{i}.npy"), rows(i, i + 40))
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    arrays = [lt.open(os.path.join(folder, f"{i}.npy")) for i in range(count)]
"""


def test_more_arrays_than_descriptors_can_be_read(tmp_path: Path, mode: str) -> None:
    code = """
        for _ in range(2):
            for i, a in enumerate(arrays):
                assert np.array_equal(a.compute(), rows(i, i + 40))
                assert np.array_equal(a.read([30, 2]), rows(i, i + 40)[[30, 2]])
        streams = [a.blocks(rows=10) for a in arrays[:8]]
        for _ in range(4):
            for i, stream in enumerate(streams):
                start, block = next(stream)
                assert np.array_equal(block, rows(i + start, i + start + 10))
        del stream, streams, block
        lt.save(os.path.join(folder, "sum.npy"), arrays[99])
        assert np.array_equal(lt.open(os.path.join(folder, "sum.npy")).compute(), rows(99, 139))
        assert held() == 0
        assert descriptors() <= 32
    """
    subject.check([MANY_FILES, code], tmp_path, mode=mode)


def test_a_file_replaced_while_its_descriptor_was_given_up_is_noticed(tmp_path: Path, mode: str) -> None:
    code = """
        def expect(kind, read):
            try:
                read()
            except kind as error:
                return error
            raise AssertionError(f"no {kind.__name__}")

        # The first ones opened have been idle longest.
        np.save(os.path.join(folder, "other.npy"), rows(500, 540))
        os.replace(os.path.join(folder, "other.npy"), os.path.join(folder, "0.npy"))
        assert "replaced" in str(expect(lt.DataChangedError, arrays[0].compute))
        assert "replaced" in str(expect(lt.DataChangedError, lambda: list(arrays[0].blocks())))
        os.unlink(os.path.join(folder, "1.npy"))
        error = expect(lt.IoError, arrays[1].compute)
        assert error.errno == errno.ENOENT and error.filename.endswith("1.npy")
        assert isinstance(error, FileNotFoundError)
        assert np.array_equal(arrays[2].compute(), rows(2, 42))
        assert np.array_equal(lt.open(os.path.join(folder, "0.npy")).compute(), rows(500, 540))
        assert held() == 0
    """
    subject.check([MANY_FILES, code], tmp_path, mode=mode)


def test_threads_that_open_and_drop_arrays_share_few_descriptors(tmp_path: Path, mode: str) -> None:
    code = """
        failures = []

        def work(seed):
            chance = np.random.default_rng(seed)
            try:
                for _ in range(150):
                    i = int(chance.integers(count))
                    fresh = lt.open(os.path.join(folder, f"{i}.npy")) if chance.integers(2) else arrays[i]
                    assert np.array_equal(fresh.read([39, 0]), rows(i, i + 40)[[39, 0]])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert failures == [], failures
        assert held() == 0
    """
    subject.check([MANY_FILES, code], tmp_path, mode=mode)


def test_no_descriptor_at_all_is_an_error_that_says_so(array_path: Path) -> None:
    code = """
        a = lt.open(arguments[0])
        taken = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        assert np.array_equal(a.compute(), rows(0, 4096))          # without a ring
        stream = a.blocks(rows=10)                                  # pins the only descriptor there is
        next(stream)
        try:
            lt.open(arguments[0])
        except lt.IoError as error:
            assert error.errno == errno.EMFILE, error
        else:
            raise AssertionError("no error")
        os.close(taken.pop()); os.close(taken.pop()); os.close(taken.pop())
        assert np.array_equal(lt.open(arguments[0]).read(5), rows(5, 6)[0])
    """
    subject.check(code, array_path)


# A filter of the kind container runtimes install: a system call gives an errno, on this thread and those it starts.
FORBID = """
    import ctypes, struct

    def forbid(call, number):
        instructions = [
            (0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | number), (0x06, 0, 0, 0x7FFF0000)
        ]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in instructions))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(code)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
            print("no seccomp"); sys.exit(0)

    IO_URING_SETUP, IO_URING_ENTER, FADVISE64 = 425, 426, 221
"""


def check_forbidden(code: str, *arguments: object, **options: object) -> None:
    if "no seccomp" in subject.check([FORBID, code], *arguments, **options):
        pytest.skip("this kernel has no seccomp filters")


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("mode", ["auto", "uring"])
def test_a_forbidden_ring_falls_back_and_says_why(array_path: Path, tmp_path: Path, mode: str, error: str) -> None:
    code = """
        number = getattr(errno, arguments[1])
        forbid(IO_URING_SETUP, number)
        a = lt.open(arguments[0])
        why = os.strerror(number)
        assert why in lt.info()["io_uring"], lt.info()
        entry, = lt.info()["files"]
        assert entry["io"] != "uring", entry
        if entry["io"] == "threads":
            assert "io_uring" in entry["why"] and why in entry["why"], entry
        assert np.array_equal(a.compute(), rows(0, 4096))
        assert np.array_equal(a.read([4000, 1]), rows(0, 4096)[[4000, 1]])
        for start, block in a.blocks():
            assert np.array_equal(block, rows(start, start + len(block)))
        lt.save(arguments[2], a)
        assert np.array_equal(np.load(arguments[2]), rows(0, 4096))
    """
    check_forbidden(code, array_path, error, tmp_path / "y.npy", mode=mode)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls are those of x86-64")
def test_a_ring_that_is_forbidden_in_mid_work_is_replaced_by_threads(array_path: Path, tmp_path: Path) -> None:
    """A sandbox that closes after the files were opened: nothing spins, nothing is lost."""
    code = """
        a = lt.open(arguments[0])
        stream = a.blocks(rows=100)
        start, block = next(stream)
        seen = [block.copy()]
        del block
        forbid(IO_URING_ENTER, errno.EPERM)
        for start, block in stream:
            seen.append(block.copy())
        assert np.array_equal(np.concatenate(seen), rows(0, 4096))
        assert np.array_equal(a.read([4000, 1]), rows(0, 4096)[[4000, 1]])
        lt.save(arguments[1], a)
        assert np.array_equal(np.load(arguments[1]), rows(0, 4096))
        assert os.strerror(errno.EPERM) in lt.info()["io_uring"], lt.info()
        del block
        assert held() == 0
    """
    check_forbidden(code, array_path, tmp_path / "y.npy", mode="uring")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls are those of x86-64")
def test_buffered_io_is_refused_where_pages_cannot_be_given_back(array_path: Path, tmp_path: Path) -> None:
    code = """
        forbid(FADVISE64, errno.EPERM)
        for work in (lambda: lt.open(arguments[0]), lambda: lt.save(arguments[1], np.ones(3))):
            try:
                work()
            except lt.IoError as error:
                assert error.errno == errno.EPERM and "posix_fadvise" in str(error), error
            else:
                raise AssertionError("its pages would stay")
        assert not os.path.exists(arguments[1])
        os.environ["LOWTIDE_IO"] = "auto"
        a = lt.open(arguments[0])
        if lt.info()["files"][0]["io"] in ("uring", "threads"):
            assert np.array_equal(a.read(slice(0, 9)), rows(0, 9))
    """
    check_forbidden(code, array_path, tmp_path / "y.npy", mode="buffered")


def test_a_kernel_that_does_not_state_direct_ios_unit_is_asked_by_a_read(array_path: Path) -> None:
    """Before Linux 6.1 no file system says what direct IO needs."""
    if shutil.which("setarch") is None:
        pytest.skip("setarch is not installed")
    code = """
        a = lt.open(arguments[0])
        entry, = lt.info()["files"]
        assert entry["io"] in ("uring", "threads"), entry
        assert np.array_equal(a.read([4000, 1]), rows(0, 4096)[[4000, 1]])
    """
    usual = subject.check("lt.open(arguments[0]); print(lt.info()['files'])", array_path)
    old_kernel = ["setarch", os.uname().machine, "--uname-2.6", *subject.strace("statx:retval=0")]
    if "uring" in usual or "threads" in usual:
        subject.check(code, array_path, wrapper=old_kernel)


def test_many_shards_keep_their_descriptors_where_the_limit_can_be_raised(tmp_path: Path) -> None:
    code = """
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 1000:
            sys.exit(0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        arrays = []
        for i in range(200):
            path = os.path.join(arguments[0], f"{i}.npy")
            np.save(path, rows(i, i + 1))
            arrays.append(lt.open(path))
        assert descriptors() >= 200
        for i, a in enumerate(arrays):
            assert np.array_equal(a.compute(), rows(i, i + 1))
    """
    subject.check(code, tmp_path)


def test_a_file_that_lost_its_name_keeps_its_descriptor(tmp_path: Path, mode: str) -> None:
    """What is kept by being open is not given up to save descriptors."""
    code = """
        path = os.path.join(folder, "kept.npy")
        np.save(path, rows(7, 47))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        kept = lt.open(path)
        os.unlink(path)
        arrays = [lt.open(os.path.join(folder, f"{i}.npy")) for i in range(count)]
        assert np.array_equal(kept.compute(), rows(7, 47))
    """
    subject.check([MANY_FILES.replace("(32, 32)", "(200, 200)"), "del arrays; gc.collect()", code], tmp_path, mode=mode)


READ_AND_SAVE = """
    a = lt.open(os.path.join(arguments[0], "x.npy"))
    assert np.array_equal(a.compute(), rows(0, 4096))
    assert np.array_equal(a.read([4000, 1]), rows(0, 4096)[[4000, 1]])
    for start, block in a.blocks():
        assert np.array_equal(block, rows(start, start + len(block)))
    lt.save(os.path.join(arguments[0], "out", "y.npy"), a)
    assert np.array_equal(np.load(os.path.join(arguments[0], "out", "y.npy")), rows(0, 4096))
    del block
    assert held() == 0
"""


@pytest.fixture
def folder_of_nobody(public_folder: Path) -> Path:
    write_array(public_folder / "x.npy", 4096)
    (public_folder / "out").mkdir()
    os.chown(public_folder / "out", 65534, 65534)
    return public_folder


@needs_root
def test_without_locked_memory_an_ordinary_user_reads_and_writes(folder_of_nobody: Path, mode: str) -> None:
    lock_nothing = """
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    os.setgid(65534); os.setuid(65534)
    """
    subject.check([lock_nothing, READ_AND_SAVE], folder_of_nobody, mode=mode)


@needs_root
def test_without_threads_of_its_own_it_reads_and_writes(folder_of_nobody: Path, mode: str) -> None:
    no_threads = """
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    os.setgid(65534); os.setuid(65534)
    """
    subject.check([no_threads, READ_AND_SAVE], folder_of_nobody, mode=mode)


@needs_root
def test_a_file_without_permission_is_a_permission_error(public_folder: Path) -> None:
    write_array(public_folder / "x.npy", 10).chmod(0o600)
    code = """
        os.setgid(65534); os.setuid(65534)
        for attempt in (lambda: lt.open(arguments[0]), lambda: lt.save(arguments[1], rows(0, 3))):
            try:
                attempt()
            except lt.IoError as error:
                assert error.errno == errno.EACCES and isinstance(error, PermissionError)
            else:
                raise AssertionError("no error")
    """
    subject.check(code, public_folder / "x.npy", public_folder / "y.npy")
