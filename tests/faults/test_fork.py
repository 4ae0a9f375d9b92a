"""fork() after use: the child works, the parent goes on, and nobody hangs."""

from pathlib import Path

import pytest
import subject

# wait(pid) ends a child that hangs.
FORKING = """
    def wait(child, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")

    def in_child(work):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work()
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                os._exit(status)
        return child

    a = lt.open(arguments[0])

    def read_all_ways():
        assert np.array_equal(a.compute(), rows(0, 4096))
        assert np.array_equal(a.read([4000, 1, 77]), rows(0, 4096)[[4000, 1, 77]])
        assert np.array_equal(a.read((slice(None), slice(3, None, 64))), rows(0, 4096)[:, 3::64])
        for start, block in a.blocks(rows=100):
            assert np.array_equal(block, rows(start, start + len(block)))
"""


@pytest.fixture(params=["uring", "threads", "buffered"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_child_reads_with_rings_and_threads_of_its_own(array_path: Path, mode: str) -> None:
    code = """
        read_all_ways()
        children = [in_child(read_all_ways) for _ in range(4)]
        read_all_ways()
        assert [wait(child) for child in children] == [0] * 4
        read_all_ways()
        # Grandchildren too.
        assert wait(in_child(lambda: (read_all_ways(), wait(in_child(read_all_ways)) == 0 or os._exit(3)))) == 0
    """
    subject.check([FORKING, code], array_path, mode=mode)


def test_merely_forking_is_fine(array_path: Path, mode: str) -> None:
    code = """
        read_all_ways()
        stream = a.blocks(rows=64)
        next(stream)
        for leave in (lambda: os._exit(0), lambda: None):
            assert wait(in_child(leave)) == 0
        child = os.fork()
        if child == 0:
            sys.exit(5)                      # finalisers run, with the parent's stream alive
        assert wait(child) == 5
        assert sum(len(block) for _, block in stream) == 4096 - 64
    """
    subject.check([FORKING, code], array_path, mode=mode)


def test_both_sides_continue_running_blocks(array_path: Path, mode: str) -> None:
    code = """
        def finish(stream, reached):
            for start, block in stream:
                assert start == reached, (start, reached)
                assert np.array_equal(block, rows(start, start + len(block)))
                reached += len(block)
            assert reached == 4096

        for view in (a, a[:, ::1]):
            for steps in (0, 1, 5):
                stream = view.blocks(rows=64)
                for _ in range(steps):
                    next(stream)
                children = [in_child(lambda: finish(stream, 64 * steps)) for _ in range(2)]
                finish(stream, 64 * steps)
                assert [wait(child) for child in children] == [0, 0]
        strided = a[:, ::3].blocks(rows=64)
        next(strided)
        child = in_child(lambda: [None for _ in strided])
        assert sum(len(block) for _, block in strided) == 4096 - 64
        assert wait(child) == 0
    """
    subject.check([FORKING, code], array_path, mode=mode)


def test_results_of_the_parent_are_there_in_the_child(array_path: Path, mode: str) -> None:
    code = """
        kept = a.read(slice(0, 2000))
        before = lt.usage().held

        def use():
            assert np.array_equal(kept, rows(0, 2000))
            assert lt.usage().held == before
            read_all_ways()

        assert wait(in_child(use)) == 0
        assert np.array_equal(kept, rows(0, 2000))
    """
    subject.check([FORKING, code], array_path, mode=mode)


@pytest.mark.parametrize("how", ["scan", "gather", "blocks", "save", "map"])
def test_forking_while_other_threads_work_does_not_hang(array_path: Path, tmp_path: Path, mode: str, how: str) -> None:
    code = """
        stop, how, failures = threading.Event(), arguments[1], []

        def work(number):
            picked = np.random.default_rng(number).integers(0, 4096, 300)
            try:
                while not stop.is_set():
                    if how == "scan":
                        a.read(slice(0, 500))
                    elif how == "gather":
                        a.read(picked)
                    elif how == "blocks":
                        sum(len(block) for _, block in a.blocks(rows=50))
                    elif how == "map":
                        lt.open(arguments[0]).read(slice(0, 3))
                    else:
                        lt.save(f"{arguments[2]}{number}.npy", a[:300], overwrite=True)
            except BaseException as error:
                failures.append(error)

        if how == "map":                     # a file that is all in the page cache is copied out of a map
            open(arguments[0], "rb").read()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads: thread.start()
        time.sleep(0.05)
        for _ in range(8):
            assert wait(in_child(read_all_ways)) == 0
        stop.set()
        for thread in threads: thread.join()
        assert failures == [], failures
        read_all_ways()
    """
    subject.check([FORKING, code], array_path, how, tmp_path / "y", mode=mode)


def test_a_child_does_not_wait_for_memory_of_threads_it_does_not_have(array_path: Path, mode: str) -> None:
    """Working memory of a parent's thread is for ever held in the child: a refusal is an answer, waiting is not."""
    code = """
        stop = threading.Event()
        lt.set_budget("24MiB")
        picked = np.random.default_rng(1).integers(0, 4096, 1000)

        def work():
            while not stop.is_set():
                try:
                    a.read(picked)
                except lt.BudgetError:
                    pass

        def read_much():
            try:
                assert np.array_equal(a.read(slice(0, 4000)), rows(0, 4000))
            except lt.BudgetError:
                pass

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(12):
            assert wait(in_child(read_much)) == 0
            time.sleep(0.003)
        stop.set()
        thread.join()
    """
    subject.check([FORKING, code], array_path, mode=mode)


def test_subprocesses_do_not_inherit_descriptors(array_path: Path, mode: str) -> None:
    code = """
        import subprocess
        stream = a.blocks(rows=64)
        next(stream)
        command = [sys.executable, "-c", "import os; os.system('ls -l /proc/self/fd')"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, close_fds=False)
        assert "npy" not in said.stdout and "uring" not in said.stdout, said.stdout
        assert sum(len(block) for _, block in stream) == 4096 - 64
    """
    subject.check([FORKING, code], array_path, mode=mode)


POOL = """
import multiprocessing, sys
import numpy as np
import lowtide as lt

array = None

def total(start):
    global array
    array = lt.open(sys.argv[1]) if array is None else array
    return int(array.read(slice(start, start + 512)).sum(dtype=np.int64))

if __name__ == "__main__":
    array = lt.open(sys.argv[1])
    expected = [total(start) for start in range(0, 4096, 512)]
    with multiprocessing.get_context(sys.argv[2]).Pool(3) as pool:
        assert pool.map(total, range(0, 4096, 512)) == expected
    assert [total(start) for start in range(0, 4096, 512)] == expected
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_reads_the_same(array_path: Path, tmp_path: Path, mode: str, method: str) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    code = """
        import subprocess
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=250)
        assert done.returncode == 0 and done.stderr == "", done.stderr
    """
    subject.check(code, script, array_path, method, mode=mode)
