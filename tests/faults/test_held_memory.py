"""What callers keep: many small results, garbage in cycles, writers and iterators that nobody goes on with."""

from pathlib import Path

import pytest
import subject


def test_100_000_small_results_do_not_run_out_of_mappings(array_path: Path) -> None:
    code = """
        lt.set_budget("1GiB")
        a = lt.open(arguments[0])
        a16 = a[:, :16]
        kept = [a16.read(i % 4096) for i in range(100_000)]
        mappings = sum(1 for _ in open("/proc/self/maps"))
        assert mappings < 5_000, mappings
        assert all(kept[i][0] == i % 4096 * 1024 for i in range(0, 100_000, 997))
        del kept
        assert held() == 0
        assert np.array_equal(a.compute(), rows(0, 4096))
    """
    subject.check(code, array_path)


def test_garbage_in_cycles_is_collected_before_a_refusal(array_path: Path, mode: str) -> None:
    code = """
        gc.disable()
        lt.set_budget("20MiB")
        a = lt.open(arguments[0])

        class Node:
            pass

        for i in range(20):
            node = Node()
            node.itself, node.rows = node, a.read(slice(0, 2000))     # 7.8 MiB
            assert node.rows[-1, 0] == 1999 * 1024
        del node
        kept = [a.read(slice(0, 2000)), a.read(slice(0, 2000))]
        try:
            a.read(slice(0, 2000))
        except lt.BudgetError as error:
            assert "results" in str(error)
        else:
            raise AssertionError("over budget")
    """
    subject.check(code, array_path, mode=mode)


def test_garbage_in_cycles_is_collected_for_other_threads_too(array_path: Path) -> None:
    code = """
        gc.disable()
        lt.set_budget("20MiB")
        a = lt.open(arguments[0])
        failures = []

        def work():
            try:
                for i in range(20):
                    loop = [a.read(slice(0, 1000))]
                    loop.append(loop)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert failures == [], failures
    """
    subject.check(code, array_path)


@pytest.mark.parametrize("holder", ["writer", "strided blocks", "blocks"])
def test_an_idle_writer_or_iterator_is_not_waited_for(array_path: Path, tmp_path: Path, mode: str, holder: str) -> None:
    """Nobody but the caller, who is asking, can release its memory: refusing is right, waiting is a hang."""
    code = """
        lt.set_budget("20MiB")
        a = lt.open(arguments[0])
        a.read([5, 4000, 77])
        if arguments[1] == "writer":
            w = lt.create(arguments[2], (0, 1024), "uint32")
            w.append(rows(0, 100))
        else:
            stream = a[:, ::2].blocks() if arguments[1] == "strided blocks" else a.blocks()
            next(stream)
        for count in (100, 1000, 2000, 3000, 4000, 4096):
            try:
                assert np.array_equal(a.read(slice(0, count)), rows(0, count))
                assert np.array_equal(a.read(np.arange(count)[::-1]), rows(0, count)[::-1])
            except lt.BudgetError as error:
                assert "held" in str(error)
    """
    subject.check(code, array_path, holder, tmp_path / "y.npy", mode=mode)
