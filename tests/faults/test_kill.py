"""SIGKILL while files are written: each is the old one or the new one, whole."""

import os
from pathlib import Path

import pytest
import subject

# One process imports and forks; its children write for ever and are killed.
KILL_LOOP = """
    import hashlib, random
    folder, kill_count, seed = arguments[0], int(arguments[1]), int(arguments[2])
    target = os.path.join(folder, "y.npy")
    contents = [np.random.default_rng(i).integers(0, 1 << 32, (512, 1024), dtype=np.uint32) for i in (1, 2)]
    lengths = [contents[0], contents[1][:300]]

    def digest(path):
        with open(path, "rb") as file:
            return hashlib.blake2b(file.read()).hexdigest()

    whole = set()
    began = time.perf_counter()
    for values in lengths:
        lt.save(target, values, overwrite=True)
        whole.add(digest(target))
    one_save = max(0.02, (time.perf_counter() - began) / 2)  # on a busy machine all takes longer

    def write_for_ever():
        turn = os.getpid()
        while True:
            values = lengths[turn % 2]
            if turn % 3:
                lt.save(target, values, overwrite=True)
            else:
                with lt.create(target, (0, 1024), "uint32", overwrite=True) as w:
                    for start in range(0, len(values), 128):
                        w.append(values[start:start + 128])
            turn += 1

    chance = random.Random(seed)
    seen = []
    for _ in range(kill_count):
        child = os.fork()
        if child == 0:
            try:
                write_for_ever()
            finally:
                os._exit(1)
        time.sleep(one_save * chance.uniform(0.1, 3))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer failed by itself"
        found = digest(target)
        assert found in whole, "a mixture"
        seen.append(found)
    changes = sum(a != b for a, b in zip(seen, seen[1:]))
    stale = [name for name in os.listdir(folder) if name != "y.npy"]
    print(changes, len(stale))
    assert set(map(lambda n: n.startswith(".y.npy."), stale)) <= {True}
    lt.save(target, lengths[0], overwrite=True)
    assert np.array_equal(lt.open(target).compute(), lengths[0])
"""


def kill(folder: Path, count: int, mode: str) -> None:
    said = subject.check(KILL_LOOP, folder, count, 17, mode=mode)
    changes, stale = map(int, said.split())
    assert changes >= count // 10, "the kills came before anything was written"
    assert stale <= count // 5, "unnamed files leave nothing; only a kill between link and rename leaves a name"


@pytest.mark.parametrize("mode", ["auto", "buffered"])
def test_a_killed_writer_leaves_the_old_file_or_the_new(tmp_path: Path, mode: str) -> None:
    kill(tmp_path, 40, mode)


@pytest.mark.slow
def test_200_killed_writers_leave_the_old_file_or_the_new(tmp_path: Path) -> None:
    kill(tmp_path, 200, "auto")


def test_a_killed_first_write_leaves_no_name(tmp_path: Path) -> None:
    subject.check(
        """
        w = lt.create(arguments[0], (4096, 1024), "uint32")
        w[:2000] = rows(0, 2000)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "y.npy",
        exit_code=-9,
    )
    assert os.listdir(tmp_path) == []
