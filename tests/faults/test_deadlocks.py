"""Nobody waits for a lock that is held by someone who waits for Python, and nobody waits for himself.

Each test is a process of its own: one that hangs is ended, and fails.
"""

from pathlib import Path

import pytest
import subject
from known_arrays import make_cold, write_array

# Every pread is as slow as on a busy network disk, so that each wait asks Python about signals.
SLOW = "pread64:delay_enter=60000"


@pytest.fixture
def tokens_path(tmp_path: Path) -> Path:
    """4 MiB of tokens."""
    path = tmp_path / "t.bin"
    path.write_bytes(bytes(4 << 20))
    make_cold(path)
    return path


LOADERS = {
    "tokens": 'lt.TokenLoader(arguments[0], block=1024, batch=8, token_dtype="uint16")',
    "rows": 'lt.RowLoader({"x": lt.open(arguments[0], dtype="uint16", shape=(-1, 1024))}, batch=8, shuffle="global")',
    "windows": 'lt.RowLoader({"x": lt.open(arguments[0], dtype="uint16", shape=(-1, 64))}, batch=8, '
    'shuffle="windowed", window=2048)',
}


@pytest.mark.parametrize("kind", LOADERS)
def test_a_metrics_thread_asks_while_the_trainer_waits_for_the_disk(tokens_path: Path, kind: str) -> None:
    code = f"""
        loader = {LOADERS[kind]}
        stop = threading.Event()

        def watch():
            while not stop.is_set():
                loader.stats(), repr(loader), loader._core.seed
                getattr(loader, "shuffle", None)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _, batch in zip(range(12), loader):
            pass
        stop.set()
        watcher.join()
        assert loader.stats().batches == 12
        loader.close()
    """
    subject.check(code, tokens_path, mode="threads", wrapper=subject.strace(SLOW), timeout=40)


@pytest.mark.parametrize("mode", ["uring", "threads", "buffered"])
@pytest.mark.parametrize("budget", ["8MiB", "16MiB"])
@pytest.mark.parametrize("how", ["lazy", "cast"])
def test_threads_index_lazily_while_others_hold_the_budget(tmp_path: Path, mode: str, budget: str, how: str) -> None:
    path = write_array(tmp_path / "x.npy", 20_000)
    code = """
        a, how = lt.open(arguments[0]), arguments[2]
        lt.set_budget(arguments[1])
        right, refused, wrong = [], [], []

        def work(number):
            chance = np.random.default_rng(number)
            for _ in range(12):
                picked = chance.integers(0, len(a), 700)
                try:
                    if how == "lazy":
                        got = a[picked].compute()
                    else:
                        got = np.asarray(a[:150], dtype="u8")
                        picked = np.arange(150)
                except lt.BudgetError as error:
                    refused.append(error)
                    continue
                (right if (got[:, 0] == picked * 1024).all() else wrong).append(number)
                del got

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert right and not wrong, (len(right), len(refused), len(wrong))
    """
    subject.check(code, path, budget, how, mode=mode, timeout=150)


@pytest.mark.parametrize("values", ["array", "memory"])
def test_a_progress_callback_may_read(array_path: Path, tmp_path: Path, values: str) -> None:
    """What the save itself holds is not waited for: the read is done, or refused."""
    code = """
        a = lt.open(arguments[0])
        x = a if arguments[2] == "array" else rows(0, 4096)
        for budget in ("3MiB", "4MiB", "6MiB", "8MiB", "16MiB"):
            lt.set_budget(budget)
            answers = []

            def look(done, total):
                for count in range(16, 1024, 48):
                    try:
                        answers.append(np.array_equal(a.read(np.arange(count)[::-1]), rows(0, count)[::-1]))
                    except lt.BudgetError:
                        answers.append(True)

            lt.save(arguments[1], x, progress=look, overwrite=True)
            assert answers and all(answers)
            assert np.array_equal(np.load(arguments[1]), rows(0, 4096))
    """
    subject.check(code, array_path, tmp_path / "y.npy", values, timeout=150)


HANDLER = """
    calls, errors = [], []

    def handle(number, frame):
        if calls and calls[-1] is None:
            return                  # in the middle of the last one
        calls.append(None)
        try:
            inside()
        except lt.Error as error:
            errors.append(str(error))
        finally:
            calls.append(number)

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
"""


@pytest.mark.parametrize("kind", LOADERS)
def test_a_signal_handler_saves_the_state_during_next(tokens_path: Path, kind: str) -> None:
    before = f"""
        loader = {LOADERS[kind]}
        states = [loader.state_dict()]     # the data is looked at once

        def inside():
            states.append(loader.state_dict())
            loader.stats(), repr(loader)
    """
    after = """
        for done, _ in enumerate(loader):
            if done == 8:
                break
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(states) > 1 and not errors, errors
        assert all(0 <= state["position"] <= 9 * 8 for state in states)
        loader.close()
    """
    subject.check([before, HANDLER, after], tokens_path, mode="threads", wrapper=subject.strace(SLOW), timeout=40)


def test_a_signal_handler_cannot_ask_for_what_it_interrupts(tokens_path: Path) -> None:
    before = f"""
        loader = {LOADERS["tokens"]}

        def inside():
            next(iter(loader))
    """
    after = """
        for done, _ in enumerate(loader):
            if done == 8:
                break
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Between two batches the handler gets one of its own.
        assert errors and all("signal handler" in error for error in errors), errors
        loader.close()
    """
    subject.check([before, HANDLER, after], tokens_path, mode="threads", wrapper=subject.strace(SLOW), timeout=40)


def test_a_signal_handler_cannot_assign_during_an_assignment(array_path: Path) -> None:
    before = """
        a = lt.open(arguments[0], mode="r+")

        def inside():
            a[5] = 5
    """
    after = """
        while not errors:
            a[:, ::2] = 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert all("signal handler" in error for error in errors), errors
        a[5] = 7
        assert (a.read(5) == 7).all() and (a.read(6)[::2] == 1).all()
    """
    slow = subject.strace("pread64,pwrite64:delay_enter=3000")
    subject.check([before, HANDLER, after], array_path, mode="threads", wrapper=slow, timeout=40)
