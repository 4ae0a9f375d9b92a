"""Leaving with IO in flight: the exit code that was asked for, no crash, no word, no hang."""

from pathlib import Path

import pytest
import subject

STREAMING = """
    a = lt.open(arguments[0])
    stream = a.blocks(rows=16)
    start, block = next(stream)
"""


@pytest.mark.parametrize(
    ("leave", "exit_code"),
    [
        ("sys.exit(7)", 7),
        ("os._exit(9)", 9),
        ("raise SystemExit", 0),
        ("pass", 0),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("import builtins; builtins.kept = stream, block", 0),
        ("threading.current_thread().kept = [stream, block, a]; gc.disable(); sys.exit(3)", 3),
    ],
)
def test_leaving_in_the_middle_of_blocks(array_path: Path, mode: str, leave: str, exit_code: int) -> None:
    subject.check([STREAMING, leave], array_path, mode=mode, exit_code=exit_code)


@pytest.mark.parametrize("how", ["scan", "gather", "blocks", "save"])
def test_daemon_threads_that_work_at_exit_do_no_harm(array_path: Path, tmp_path: Path, mode: str, how: str) -> None:
    code = """
        a, how = lt.open(arguments[0]), arguments[1]
        picked = np.random.default_rng(1).integers(0, 4096, 2000)

        def work(number):
            while True:
                if how == "scan":
                    a.compute()
                elif how == "gather":
                    a.read(picked)
                elif how == "blocks":
                    for _ in a.blocks(rows=16):
                        pass
                else:
                    lt.save(f"{arguments[2]}{number}.npy", a, overwrite=True, progress=lambda done, total: None)

        for number in range(4):
            threading.Thread(target=work, args=(number,), daemon=True).start()
        time.sleep(0.1)
        sys.exit(7)
    """
    subject.check(code, array_path, how, tmp_path / "y", mode=mode, exit_code=7)


def test_an_open_writer_at_exit_leaves_nothing(tmp_path: Path, mode: str) -> None:
    code = """
        w = lt.create(arguments[0], (0, 1024), "uint32")
        w.append(rows(0, 3000))
        sys.exit(2)
    """
    subject.check(code, tmp_path / "y.npy", mode=mode, exit_code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_guard_at_exit_does_no_harm(array_path: Path) -> None:
    code = """
        m = np.memmap(arguments[0], dtype=np.uint32, mode="r")
        g = lt.guard(m, limit="1MiB")
        m.sum()
        sys.exit(4)
    """
    subject.check(code, array_path, exit_code=4)


def test_an_exception_in_a_loop_over_blocks_frees_the_memory(array_path: Path, mode: str) -> None:
    code = """
        a = lt.open(arguments[0])
        try:
            for start, block in a.blocks(rows=16):
                raise KeyError("stop")
        except KeyError:
            pass
        del block
        assert held() == 0, lt.usage()
    """
    subject.check(code, array_path, mode=mode)
