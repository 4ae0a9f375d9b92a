"""Ctrl-C at random times in long calls: soon, clean, and the library is usable afterwards."""

import json
import os
import statistics
from pathlib import Path

import pytest
import subject

TRIES = 20

# A file of holes is as long as one likes and costs no disk; one row of it is known.
INTERRUPT = """
    import json, random
    path, folder, how, tries = arguments[0], arguments[1], arguments[2], int(arguments[3])
    chance = random.Random(how)
    a = lt.open(path, dtype="uint32", shape=(-1, 1024))
    known = a.read(100).copy()
    order = np.random.default_rng(5).permutation(len(a))

    def read():
        lt.set_budget("1.2GiB")
        a.compute()

    def gather():
        lt.set_budget("1.2GiB")
        a.read(order)

    def strided():
        lt.set_budget("1.2GiB")
        a.read((slice(None), slice(None, None, 2)))

    def blocks():
        lt.set_budget("2MiB")
        for _ in a.blocks():
            pass

    def save():
        lt.set_budget("8MiB")
        lt.save(os.path.join(folder, "y.npy"), a)

    def append():
        lt.set_budget("64MiB")
        with lt.create(os.path.join(folder, "y.npy"), (0, 1024), "uint32") as w:
            w.append(np.broadcast_to(np.uint32(1), (len(a), 1024)))

    def assign():
        lt.set_budget("8MiB")
        lt.open(path, dtype="uint32", shape=(-1, 1024), mode="r+")[1000:, ::2] = 0

    def yardstick():
        time.sleep(30)

    work = globals()[how]
    latencies = []
    misses = 0
    while len(latencies) < tries and misses < tries:
        sent = []

        def press(after):
            time.sleep(after)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        presser = threading.Thread(target=press, args=(chance.uniform(0.005, 0.12),))
        finished = False
        try:
            presser.start()
            work()
            finished = True
            presser.join()
            time.sleep(1)
        except KeyboardInterrupt:
            caught = time.perf_counter()
        presser.join()
        if finished:
            misses += 1
            continue
        latencies.append(1000 * (caught - sent[0]))
        assert held() == 0, lt.usage()
        assert os.listdir(folder) == []
    lt.set_budget("64MiB")
    assert np.array_equal(a.read(100), known)
    assert sum(len(block) for _, block in a[:5000].blocks()) == 5000
    lt.save(os.path.join(folder, "y.npy"), a[:1000])
    print(json.dumps(latencies))
"""


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1 GiB, nearly all of it holes."""
    path = tmp_path_factory.mktemp("long") / "long.bin"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(100 * 4096)
        file.write(b"known" * 800)
    return path


def median_latency(long_file: Path, folder: Path, mode: str, how: str, tries: int) -> float:
    said = subject.check(INTERRUPT, long_file, folder, how, tries, mode=mode)
    latencies = json.loads(said)
    assert len(latencies) >= tries // 4, "the call was over before the key was pressed"
    return statistics.median(latencies)


@pytest.mark.parametrize("mode", ["auto", "threads"])
@pytest.mark.parametrize("how", ["read", "gather", "strided", "blocks", "save", "append", "assign"])
def test_ctrl_c_ends_a_long_call_soon(long_file: Path, tmp_path: Path, mode: str, how: str) -> None:
    tries = TRIES if mode == "auto" else TRIES // 2
    latency = median_latency(long_file, tmp_path, mode, how, tries)
    if latency >= 100:  # so is a sleep, where others keep the processors busy
        (tmp_path / "y.npy").unlink()
        latency -= 20 * median_latency(long_file, tmp_path, mode, "yardstick", 5)
    assert latency < 100
    assert os.listdir(tmp_path) == ["y.npy"]


def test_ctrl_c_in_a_progress_callback_ends_the_save(array_path: Path, tmp_path: Path) -> None:
    code = """
        folder = arguments[1]

        def press(done, total):
            raise KeyboardInterrupt

        try:
            lt.save(os.path.join(folder, "y.npy"), lt.open(arguments[0]), progress=press)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("not interrupted")
        assert os.listdir(folder) == []
        assert held() == 0
    """
    folder = tmp_path / "out"
    folder.mkdir()
    subject.check(code, array_path, folder)


def test_a_handler_that_does_not_raise_lets_the_call_finish(array_path: Path, mode: str) -> None:
    code = """
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        a = lt.open(arguments[0])
        for _ in range(6):
            assert np.array_equal(a.compute(), rows(0, 4096))
            assert np.array_equal(a.read([4000, 5, 9]), rows(0, 4096)[[4000, 5, 9]])
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert seen
    """
    subject.check(code, array_path, mode=mode)
