"""fork() while another thread is in the middle of something long: its locks and bytes are not the child's."""

from pathlib import Path

import pytest
import subject
from test_fork import FORKING

# Forks again and again while `work` runs in another thread.
BESIDE = """
    stop, failures = threading.Event(), []

    def repeat():
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)

    def fork_beside(child, count=12):
        thread = threading.Thread(target=repeat)
        thread.start()
        chance = np.random.default_rng(7)
        try:
            for _ in range(count):
                time.sleep(chance.uniform(0, 0.02))
                assert wait(in_child(child)) == 0
        finally:
            stop.set()
            thread.join()
        assert failures == [], failures
"""


@pytest.mark.parametrize("mode", ["uring", "threads", "buffered"])
def test_a_child_assigns_while_another_thread_assigns(array_path: Path, mode: str) -> None:
    code = """
        b = lt.open(arguments[0], mode="r+")

        def work():
            b[:2048, ::2] = 1

        def child():
            try:
                b[4000] = 9
            except lt.DataChangedError:     # the parent goes on writing
                pass

        fork_beside(child)
        b[4000] = 9
        assert (b.read(4000) == 9).all()
    """
    subject.check([FORKING, BESIDE, code], array_path, mode=mode)


@pytest.mark.parametrize("shuffle", ["global", "windowed"])
def test_a_child_goes_on_while_another_thread_iterates(array_path: Path, shuffle: str) -> None:
    code = """
        lt.set_budget("256MiB")
        loader = lt.RowLoader({"x": a}, batch=16, shuffle=arguments[1], seed=3, epochs=1000)
        alone = lt.RowLoader({"x": a}, batch=16, shuffle=arguments[1], seed=3, epochs=1000)
        loop = iter(loader)

        def work():
            next(loop)

        def child():
            state = loader.state_dict()
            loader.stats(), repr(loader)
            alone.load_state_dict(state)
            assert np.array_equal(next(iter(loader))["x"], next(iter(alone))["x"])

        fork_beside(child)
        loader.close()
    """
    subject.check([FORKING, BESIDE, code], array_path, shuffle)


def test_a_child_stops_a_guard_and_ends(array_path: Path) -> None:
    code = """
        mapped = np.memmap(arguments[0], mode="r+")
        guard = lt.guard(mapped, limit="1MiB")

        def work():
            mapped[:: 4096] += 0        # dirty pages: the guard is nearly always in the middle of a release

        fork_beside(guard.stop)
        child = os.fork()
        if child == 0:
            sys.exit(0)                 # finalisers run
        assert wait(child) == 0
        guard.stop()
    """
    subject.check([FORKING, BESIDE, code], array_path)


@pytest.mark.parametrize("mode", ["uring", "threads", "buffered"])
def test_a_child_has_not_the_bytes_of_its_parents_threads(array_path: Path, mode: str) -> None:
    """A thread that is always in the middle of a read of most of the budget: each child can read as much."""
    code = """
        lt.set_budget("8MiB", wait=0)
        picked = np.random.default_rng(1).integers(0, 4096, 700)

        def work():
            a.read(picked)

        def child():
            assert np.array_equal(a.read(picked), rows(0, 4096)[picked])

        fork_beside(child, 30)
    """
    subject.check([FORKING, BESIDE, code], array_path, mode=mode)


@pytest.mark.parametrize("mode", ["uring", "threads"])
def test_a_writer_belongs_to_the_process_that_created_it(tmp_path: Path, array_path: Path, mode: str) -> None:
    code = """
        with lt.create(arguments[1], (0, 1024), "uint32") as w:
            w.append(rows(0, 500))

            def use():
                for misuse in (lambda: w.append(rows(0, 300)), w.close):
                    try:
                        misuse()
                    except lt.Error as error:
                        assert "process" in str(error)
                    else:
                        raise AssertionError("the child wrote into its parent's file")
                w.discard()

            assert wait(in_child(use)) == 0
            child = os.fork()
            if child == 0:
                sys.exit(3)             # leaves the block, and its parent's file alone
            assert wait(child) == 3
            w.append(rows(500, 4096))
        assert np.array_equal(np.load(arguments[1]), rows(0, 4096))
    """
    subject.check([FORKING, code], array_path, tmp_path / "y.npy", mode=mode)
