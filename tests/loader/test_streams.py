"""What a stream of samples promises its users, whichever loader it comes from."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from token_files import write_megatron

import lowtide as lt


def loaders(tokens: Path, rows: Path, **share: Any) -> dict[str, Any]:
    a = lt.open(rows)
    return {
        "tokens": lt.TokenLoader(tokens, 99, 7, epochs=1, **share),
        "global": lt.RowLoader(a, 7, shuffle="global", **share),
        "windowed": lt.RowLoader(a, 7, shuffle="windowed", window=100, **share),
        "mixture": lt.Mixture([lt.TokenLoader(tokens, 99, 7, epochs=1, seed=seed, **share) for seed in (1, 2)], [3, 1]),
        "mixture by batch": lt.Mixture(
            [lt.TokenLoader(tokens, 99, 7, epochs=1, seed=seed, **share) for seed in (1, 2)], by="batch"
        ),
    }


KINDS = ["tokens", "global", "windowed", "mixture", "mixture by batch"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [0, 3])
def test_stopping_at_the_length_of_a_loader_leaves_no_loop_empty(
    tokens: Path, rows: Path, kind: str, rank: int
) -> None:
    counting, plain = (loaders(tokens, rows, rank=rank, world=4)[kind] for _ in range(2))
    for _ in range(4):
        counted = [batch for _, batch in zip(range(len(counting)), counting, strict=False)]
        looped = list(plain)
        assert len(counted) == len(looped) == len(plain)
        assert pickle.dumps(counted) == pickle.dumps(looped)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_saved_behind_the_last_batch_begins_the_next_loop(tokens: Path, rows: Path, kind: str) -> None:
    loader, resumed = (loaders(tokens, rows)[kind] for _ in range(2))
    for _ in zip(range(len(loader)), loader, strict=False):
        pass
    resumed.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    first, second = list(loader), list(resumed)
    assert len(first) == len(loader)
    assert pickle.dumps(first) == pickle.dumps(second)


class OwnTokens(lt.TokenLoader):
    """Of a user."""


class OwnRows(lt.RowLoader):
    """Of a user."""


def test_a_pickled_loader_of_a_users_class_stays_one_and_goes_on_where_it_stood(tokens: Path, rows: Path) -> None:
    for loader in (OwnTokens(tokens, 99, 7, seed=3), OwnRows(lt.open(rows), 7, seed=3)):
        next(loader)
        with loader, pickle.loads(pickle.dumps(loader)) as copy:
            assert type(copy) is type(loader)
            assert pickle.dumps(next(copy)) == pickle.dumps(next(loader))


@pytest.mark.parametrize("kind", KINDS)
def test_next_gives_batches_until_the_loop_ends(tokens: Path, rows: Path, kind: str) -> None:
    loader, same = (loaders(tokens, rows)[kind] for _ in range(2))
    expected = list(same)
    assert pickle.dumps([next(loader) for _ in expected]) == pickle.dumps(expected)
    with pytest.raises(StopIteration):
        next(loader)


@pytest.mark.parametrize("kind", ["tokens", "global", "windowed"])
@pytest.mark.parametrize("damage", ["missing", "text", "negative", "bool"])
def test_damaged_states_are_named_as_such(tokens: Path, rows: Path, kind: str, damage: str) -> None:
    loader = loaders(tokens, rows)[kind]
    state = loader.state_dict()
    for name in set(state) - {"lowtide", "version", "options", "shuffle", "ended"}:
        broken = dict(state)
        if damage == "missing":
            del broken[name]
        else:
            broken[name] = {"text": "x", "negative": -1, "bool": True}[damage]
        with pytest.raises(lt.FormatError, match="damaged"):
            loader.load_state_dict(broken)
    assert list(loader)


def test_a_state_of_an_older_version_is_refused_with_a_line_to_type(tokens: Path, rows: Path) -> None:
    for loader in loaders(tokens, rows).values():
        state = {**loader.state_dict(), "version": 1, "epoch": 6}
        with pytest.raises(lt.FormatError, match=r'(?s)version 1.*load_state_dict\(.*"epoch": 7') as caught:
            loader.load_state_dict(state)
        if isinstance(loader, lt.TokenLoader | lt.RowLoader):
            line = str(caught.value).rsplit("epoch: ", 1)[1]
            exec(line, {"loader": loader})
            assert loader.state_dict()["epoch"] == 7


@pytest.mark.parametrize(
    "other",
    [
        {"overlap": 1},
        {"documents": 7},
        {"documents": 7, "pack": True},
        {"shuffle": False},
        {"moving": False},
        {"split": ("train", 0.9999)},
        {"skip": [(9_990, 10_000)]},
        {"block": 98},
    ],
    ids=str,
)
def test_a_state_of_another_stream_is_refused(tokens: Path, other: dict[str, Any]) -> None:
    state = lt.TokenLoader(tokens, 99, 7).state_dict()
    with pytest.raises(ValueError, match=next(iter(other))):
        lt.TokenLoader(tokens, **{"block": 99, "batch": 7, **other}).load_state_dict(state)


def test_a_changed_index_is_changed_data(tmp_path: Path) -> None:
    documents = np.split(np.random.default_rng(0).integers(1, 1000, 4000), [100, 900, 2000])
    prefix = write_megatron(tmp_path / "m", documents)
    state = lt.TokenLoader(prefix, 15, 4, documents="index", pack=True).state_dict()
    write_megatron(tmp_path / "m", np.split(np.concatenate(documents), [300, 900, 2000]))
    with pytest.raises(lt.DataChangedError, match=r"m\.idx"):
        lt.TokenLoader(prefix, 15, 4, documents="index", pack=True).load_state_dict(state)


def test_the_longest_segment_covers_all_bounds(tokens: Path) -> None:
    data = np.fromfile(tokens, np.uint16)
    data[::1500] = 0
    data.tofile(tokens)
    for batch in lt.TokenLoader(tokens, 4000, 2, documents=0, pack=True, epochs=1):
        assert batch.max_seqlen == np.diff(batch.cu_seqlens).max()


@pytest.mark.parametrize("kind", ["tokens", "global", "windowed"])
def test_a_transform_that_raises_does_not_lose_its_batch(tokens: Path, rows: Path, kind: str) -> None:
    broken = True

    def transform(batch: Any) -> Any:
        if broken:
            raise RuntimeError("not now")
        return batch

    def make(function: Callable[[Any], Any] | None) -> Any:
        if kind == "tokens":
            return lt.TokenLoader(tokens, 99, 7, epochs=1, transform=function)
        return lt.RowLoader(lt.open(rows), 7, shuffle=kind, transform=function)

    loader, expected = make(transform), list(make(None))
    broken = False
    found = [next(loader) for _ in range(3)]
    broken = True
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not now"):
            next(loader)
    state = loader.state_dict()
    broken = False
    assert pickle.dumps(found + list(loader)) == pickle.dumps(expected)
    loader.load_state_dict(state)
    assert pickle.dumps(list(loader)) == pickle.dumps(expected[3:])


def test_a_transform_of_tokens_sees_the_whole_batch(counted: Path) -> None:
    loader = lt.TokenLoader(
        counted, 9, 4, shuffle=False, transform=lambda batch: {"input": batch[0], "n": len(batch[0])}
    )
    batch = next(loader)
    assert batch["n"] == 4
    assert batch["input"][1].tolist() == list(range(10, 19))
    assert loader.sample()["input"].shape == (4, 9)


def test_rows_come_from_paths_maps_and_memory_alike(tmp_path: Path) -> None:
    data = np.random.default_rng(0).normal(size=(300, 3)).astype("f4")
    np.save(tmp_path / "x.npy", data)
    data.tofile(tmp_path / "x.bin")
    np.asfortranarray(data).ravel("K").tofile(tmp_path / "f.bin")
    raw = {"dtype": "f4", "mode": "r", "shape": (300, 3)}
    given = {
        "array": lt.open(tmp_path / "x.npy"),
        "path": tmp_path / "x.npy",
        "text": str(tmp_path / "x.npy"),
        "ndarray": data,
        "transposed": np.asfortranarray(data),
        "np.load": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "np.memmap": np.memmap(tmp_path / "x.bin", **raw),
        "np.memmap, Fortran": np.memmap(tmp_path / "f.bin", order="F", **raw),
        "np.memmap, part": np.memmap(tmp_path / "x.bin", dtype="f4", mode="r", shape=(301 - 1, 3))[:],
        "lt.memmap": lt.memmap(tmp_path / "x.bin", **raw),
        "lt.memmap, Fortran": lt.memmap(tmp_path / "f.bin", order="F", **raw),
    }
    data.astype(">f4").tofile(tmp_path / "b.bin")
    given["lt.memmap, big-endian"] = lt.memmap(tmp_path / "b.bin", dtype=">f4", mode="r", shape=(300, 3))
    given["lt.memmap, transposed twice"] = lt.memmap(tmp_path / "x.bin", **raw).T.T
    private = np.memmap(tmp_path / "b.bin", dtype="f4", mode="c", shape=(300, 3))
    private[:] = data
    given["np.memmap, changed for itself"] = private
    for name, source in given.items():
        found = list(lt.RowLoader({"x": source}, 64, seed=5, shuffle="global"))
        expected = list(lt.RowLoader({"x": given["array"]}, 64, seed=5, shuffle="global"))
        assert all((a["x"] == b["x"]).all() for a, b in zip(found, expected, strict=True)), name
    with pytest.raises(TypeError, match="int"):
        lt.RowLoader([1, 2], 3)


def test_two_windowed_loaders_fit_a_small_budget(tmp_path: Path) -> None:
    paths = [tmp_path / "train.npy", tmp_path / "val.npy"]
    for path in paths:
        np.save(path, np.arange(4_000_000).reshape(-1, 2))
    with lt.budget("64MiB"):
        train, val = (lt.RowLoader(path, 256, window=None, shuffle="windowed") for path in paths)
        for a, b in zip(islice(train, 200), islice(val, 200), strict=True):
            assert a.shape == b.shape == (256, 2)
        train.close()
        val.close()


def test_windows_that_do_not_fit_are_read_row_by_row_in_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(2_000_000).reshape(-1, 2))
    with lt.budget("256MiB"), lt.RowLoader(path, 512, seed=1, shuffle="windowed", window=500_000) as roomy:
        expected = [next(roomy) for _ in range(20)]
        state = roomy.state_dict()
        behind = next(roomy)
    with lt.budget("8MiB"), lt.RowLoader(path, 512, seed=1, shuffle="windowed", window=500_000) as tight:
        assert all((next(tight) == batch).all() for batch in expected)
        tight.load_state_dict(state)
        assert (next(tight) == behind).all()


def test_a_budget_too_small_for_a_loader_says_what_loaders_can_do(tokens: Path) -> None:
    with lt.budget("8MiB"), pytest.raises(lt.BudgetError, match=r"smaller batch=") as caught:
        next(lt.TokenLoader(tokens, 9_000, 200))
    assert "blocks()" not in str(caught.value)
