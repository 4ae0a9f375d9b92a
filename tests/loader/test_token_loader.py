"""TokenLoader: every window once, the same stream however it is shared out, and a state that is exact."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_files import write_litpkds, write_llmc, write_megatron, write_nanogpt, write_olmo_npy

import lowtide as lt

Stream = list[int]


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Token i is i: the first token of a window says which one it is."""
    path: Path = tmp_path_factory.mktemp("tokens") / "train.bin"
    np.arange(20_000, dtype=np.uint32).tofile(path)
    return path


def firsts(batch: Any) -> Stream:
    x, y = batch
    assert (x[:, 1:] == x[:, :-1] + 1).all()
    assert (y == x + 1).all()
    return [int(first) for first in x[:, 0]]


def loop(loader: lt.TokenLoader) -> Stream:
    return [first for batch in loader for first in firsts(batch)]


shares = st.tuples(st.integers(1, 9), st.integers(1, 4))  # batch, world


@given(
    block=st.integers(1, 200),
    share=shares,
    seed=st.integers(0, 2**64 - 1),
    shuffle=st.booleans(),
    overlap=st.booleans(),
)
def test_ranks_together_give_every_window_once_and_in_the_order_of_one_process(
    counting: Path, block: int, share: tuple[int, int], seed: int, shuffle: bool, overlap: bool
) -> None:
    batch, world = share
    options: dict[str, Any] = {"seed": seed, "shuffle": shuffle, "epochs": 1, "overlap": int(overlap), "block": block}
    alone = loop(lt.TokenLoader(counting, batch=batch * world, **options))
    stride = block + 1 - int(overlap)
    assert sorted(alone) == list(range(0, 20_000 - block, stride))
    assert shuffle or alone == sorted(alone)
    ranks = [lt.TokenLoader(counting, batch=batch, rank=rank, world=world, **options) for rank in range(world)]
    together: Stream = []
    loops = [iter(rank) for rank in ranks]
    while parts := [part for each in loops if (part := next(each, None)) is not None]:
        together += [first for part in parts for first in firsts(part)]
    assert together == alone


@given(data=st.data())
def test_a_stream_goes_on_with_any_batch_and_world_from_any_place(counting: Path, data: st.DataObject) -> None:
    options: dict[str, Any] = {
        "block": data.draw(st.integers(1, 60)),
        "epochs": data.draw(st.integers(1, 3)),
        "seed": 5,
    }
    reference = loop(lt.TokenLoader(counting, batch=64, **options))
    position = data.draw(st.integers(0, len(reference) - 1))
    batch, world = data.draw(shares)
    state = lt.TokenLoader(counting, batch=1, **options).state_dict()
    windows = state["windows"]
    state |= {"epoch": position // windows, "position": position % windows}
    together: Stream = []
    loops = []
    for rank in range(world):
        loader = lt.TokenLoader(counting, batch=batch, rank=rank, world=world, **options)
        loader.load_state_dict(json.loads(json.dumps(state)))
        loops.append(iter(loader))
    for _ in range(5):
        together += [first for each in loops for first in firsts(next(each, (np.empty((0, 1)), np.empty((0, 1)))))]
    assert together == reference[position : position + len(together)]
    assert len(together) == min(5 * batch * world, len(reference) - position)


@given(taken=st.integers(0, 40), batch=st.integers(1, 9), again=st.integers(1, 9))
def test_what_was_made_ahead_is_neither_lost_nor_repeated(counting: Path, taken: int, batch: int, again: int) -> None:
    reference = loop(lt.TokenLoader(counting, 50, 7, epochs=1))
    loader = lt.TokenLoader(counting, 50, batch, epochs=1)
    batches = iter(loader)
    seen = [first for _ in range(taken) for first in firsts(next(batches))]
    resumed = lt.TokenLoader(counting, 50, again, epochs=1)
    resumed.load_state_dict(loader.state_dict())
    assert seen + loop(resumed) == reference


def test_a_state_is_small_json(counting: Path, tmp_path: Path) -> None:
    for i in range(300):
        np.arange(100, dtype=np.uint16).tofile(tmp_path / f"shard_{i:04}.bin")
    for paths in (counting, tmp_path / "*.bin"):
        state = lt.TokenLoader(paths, 8, 2, seed=2**64 - 1).state_dict()
        assert len(json.dumps(state)) < 1024


def test_a_loop_ends_with_its_epochs_and_the_next_goes_on(counting: Path) -> None:
    loader = lt.TokenLoader(counting, 99, 7, epochs=2, seed=3)
    assert len(loader) == -(-2 * 200 // 7)
    first, second = loop(loader), loop(loader)
    assert len(first) == len(second) == 400
    assert len({tuple(part) for part in (first[:200], first[200:], second[:200], second[200:])}) == 4
    assert loader.state_dict()["epoch"] == 4


def test_a_state_saved_at_the_last_batch_begins_the_next_loop(counting: Path) -> None:
    loader = lt.TokenLoader(counting, 99, 100, epochs=1)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    resumed = lt.TokenLoader(counting, 99, 100, epochs=1)
    resumed.load_state_dict(loader.state_dict())
    assert resumed.state_dict()["ended"]
    assert len(loop(resumed)) == 200
    assert resumed.state_dict()["epoch"] == 2


def test_drop_last_gives_every_rank_as_many_full_batches(counting: Path) -> None:
    for rank in range(3):
        loader = lt.TokenLoader(counting, 99, 9, epochs=1, rank=rank, world=3, drop_last=True)
        assert [len(x) for x, _ in loader] == [9] * (200 // 27)
        assert len(loader) == 200 // 27


def test_samples_are_drawn_from_every_place_and_go_on_from_a_state(counting: Path) -> None:
    loader = lt.TokenLoader(counting, 10, 500, seed=1)
    starts = np.concatenate([firsts(loader.sample()) for _ in range(40)])
    assert starts.min() < 20
    assert starts.max() == pytest.approx(19_989, abs=20)
    assert 0.6 < len(np.unique(starts)) / 20_000 < 0.66  # 1 - 1/e
    state = loader.state_dict()
    expected = firsts(loader.sample())
    resumed = lt.TokenLoader(counting, 10, 500)
    resumed.load_state_dict(state)
    assert firsts(resumed.sample()) == expected


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16"])
def test_tokens_come_in_the_dtype_that_is_asked_for(tmp_path: Path, dtype: str) -> None:
    tokens = np.random.default_rng(0).integers(0, 65536, 5000).astype(np.uint16)
    tokens.tofile(tmp_path / "t.bin")
    x, y = next(iter(lt.TokenLoader(tmp_path / "t.bin", 100, 8, dtype=dtype, shuffle=False)))
    assert x.dtype == y.dtype == dtype
    windows = tokens[: 8 * 101].reshape(8, 101)
    assert np.array_equal(x, windows[:, :-1])
    assert np.array_equal(y, windows[:, 1:])


TOKENS = np.random.default_rng(1).integers(5, 50_000, 3_000)


def written(folder: Path, kind: str) -> Any:
    match kind:
        case "nanogpt":
            return write_nanogpt(folder / "t.bin", TOKENS)
        case "nanogpt-uint32":
            return write_nanogpt(folder / "t.bin", TOKENS, "uint32")
        case "olmo":
            return write_olmo_npy(folder / "t.npy", TOKENS)
        case "npy":
            np.save(folder / "t.npy", TOKENS.astype(np.int32))
            return folder / "t.npy"
        case "npy-big-endian":
            np.save(folder / "t.npy", TOKENS.astype(">u2"))
            return folder / "t.npy"
        case "llm.c":
            return write_llmc(folder / "t.bin", TOKENS)
        case "llm.c-llama":
            return write_llmc(folder / "t.bin", TOKENS, 20240801, 7)
        case "litpkds":
            return write_litpkds(folder / "t.bin", TOKENS)
        case "megatron":
            write_megatron(folder / "t", np.split(TOKENS, [100, 1000]), "uint16")
            return folder / "t.bin"
    raise AssertionError(kind)


KINDS = ["nanogpt", "nanogpt-uint32", "olmo", "npy", "npy-big-endian", "llm.c", "llm.c-llama", "litpkds", "megatron"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_its_tokens(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    loader = lt.TokenLoader(path, 99, 30, shuffle=False, epochs=1)
    x, y = next(iter(loader))
    windows = TOKENS.reshape(30, 100)
    assert np.array_equal(x, windows[:, :-1])
    assert np.array_equal(y, windows[:, 1:])


def test_shards_of_a_glob_are_one_stream(tmp_path: Path) -> None:
    for i, part in enumerate(np.split(TOKENS, [7, 1003, 2500])):
        write_llmc(tmp_path / f"shard_{i}.bin", part)
    loader = lt.TokenLoader(tmp_path / "shard_*.bin", 99, 30, shuffle=False, epochs=1)
    assert [Path(name).name for name in loader.files] == [f"shard_{i}.bin" for i in range(4)]
    x, _ = next(iter(loader))
    assert np.array_equal(x, TOKENS.reshape(30, 100)[:, :-1])


def expected_marks(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], eot: int) -> tuple[Any, Any, Any]:
    """Written the slow way."""
    positions, bounds, mask = np.zeros(x.shape, int), [0], x != eot
    for row in range(len(x)):
        for i in range(1, x.shape[1]):
            positions[row, i] = 0 if x[row, i - 1] == eot else positions[row, i - 1] + 1
        bounds += [row * x.shape[1] + i for i in range(x.shape[1]) if i > 0 and positions[row, i] == 0]
        bounds.append((row + 1) * x.shape[1])
    return positions, sorted(set(bounds)), mask


@given(block=st.integers(2, 90), often=st.integers(2, 60))
def test_documents_are_marked_as_the_slow_way_does(tmp_path_factory: Any, block: int, often: int) -> None:
    path = tmp_path_factory.mktemp("d") / "t.bin"
    tokens = np.random.default_rng(often).integers(0, often, 2000).astype(np.uint16)
    tokens.tofile(path)
    for batch in lt.TokenLoader(path, block, 5, epochs=1, documents=0, seed=block, token_dtype="uint16"):
        positions, bounds, mask = expected_marks(batch.x, batch.y, 0)
        assert np.array_equal(batch.positions, positions)
        assert batch.cu_seqlens.tolist() == bounds
        assert np.array_equal(batch.mask, mask)
        assert batch.max_seqlen == np.diff(bounds).max()


def test_megatrons_documents_are_those_of_its_index(tmp_path: Path) -> None:
    lengths = [5, 1, 30, 64, 2, 98, 100]
    documents = np.split(TOKENS[: sum(lengths)], np.cumsum(lengths)[:-1])
    write_megatron(tmp_path / "t", documents, "uint16")
    loader = lt.TokenLoader(tmp_path / "t", 99, 3, shuffle=False, documents="index", epochs=1)
    batch = next(iter(loader))
    owner = np.repeat(np.arange(len(lengths)), lengths).reshape(3, 100)
    assert np.array_equal(batch.mask, owner[:, 1:] == owner[:, :-1])


def test_packed_documents_are_whole_and_waste_is_reported(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    documents = [rng.integers(1, 60_000, n) for n in rng.integers(1, 80, 300)]
    write_megatron(tmp_path / "t", documents, "uint16")
    loader = lt.TokenLoader(tmp_path / "t", 127, 4, documents="index", pack=True, pad=0, epochs=1)
    pairs = sum(int(batch.mask.sum()) for batch in loader)
    assert pairs == sum(len(document) - 1 for document in documents)
    assert loader.packing is not None
    assert loader.packing.documents >= 290
    assert loader.packing.cut == 0
    assert loader.packing.waste < 0.05


def test_a_loader_is_itself_after_a_pickle(counting: Path) -> None:
    loader = lt.TokenLoader(counting, 50, 7, seed=9, epochs=1)
    next(iter(loader))
    copy = pickle.loads(pickle.dumps(loader))
    assert loop(copy) == loop(loader)


def test_statistics_add_up(counting: Path) -> None:
    loader = lt.TokenLoader(counting, 99, 10, epochs=1)
    assert sum(x.size for x, _ in loader) == 200 * 99
    stats = loader.stats()
    assert (stats.batches, stats.samples, stats.tokens) == (20, 200, 200 * 99)
    assert stats.tokens_per_second > 0
    assert stats.peak >= stats.held > 0
    loader.close()
    assert loader.stats().held == 0


def test_a_closed_loader_goes_on_where_it_was(counting: Path) -> None:
    reference = loop(lt.TokenLoader(counting, 99, 10, epochs=1))
    loader = lt.TokenLoader(counting, 99, 10, epochs=1)
    with loader:
        seen = firsts(next(iter(loader)))
    assert seen + loop(loader) == reference
