"""Which tokens a stream is made of: targets, splits, what is skipped, documents."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from token_files import write_megatron

import lowtide as lt


def test_equal_seeds_do_not_tie_data_of_nearly_the_same_size(tmp_path: Path) -> None:
    orders = []
    for count in (500, 501):
        np.save(tmp_path / f"{count}.npy", np.arange(count))
        orders.append(np.concatenate(list(lt.RowLoader(lt.open(tmp_path / f"{count}.npy"), 50, shuffle="global"))))
    assert (orders[0] == orders[1][:500]).sum() < 20
    draws = []
    for count in (5000, 5001):
        np.arange(count, dtype=np.uint16).tofile(tmp_path / f"{count}.bin")
        draws.append(lt.TokenLoader(tmp_path / f"{count}.bin", 9, 500, token_dtype="u2").sample()[0][:, 0])
    assert (abs(draws[0] - draws[1]) < 2).sum() < 20


@pytest.mark.parametrize("count", [100, 101, 109])
def test_every_token_but_the_first_is_a_target_in_some_epoch(tmp_path: Path, count: int) -> None:
    path = tmp_path / "t.bin"
    np.arange(count, dtype=np.uint16).tofile(path)
    loader = lt.TokenLoader(path, 9, 2, epochs=1, token_dtype="u2")
    seen: set[int] = set()
    for _ in range(10):
        targets = np.concatenate([y.ravel() for _, y in loader])
        seen |= set(targets.tolist())
    assert seen == set(range(1, count))
    fixed = lt.TokenLoader(path, 9, 2, epochs=1, token_dtype="u2", moving=False)
    firsts = [sorted(x[0] for batch, _ in fixed for x in batch) for _ in range(3)]
    assert firsts[0] == firsts[1] == firsts[2]


def test_where_a_step_comes_from_is_what_it_is_made_of(counted: Path) -> None:
    loader = lt.TokenLoader(counted, 9, 4, seed=3, rank=1, world=2, token_dtype="u2")
    for step in range(300):  # more than an epoch
        x, _ = next(loader)
        origins = loader.where(step)
        assert [origin.row for origin in origins] == [0, 1, 2, 3]
        assert [origin.token for origin in origins] == x[:, 0].tolist()
        assert all(origin.offset == 2 * origin.token and origin.tokens == 10 for origin in origins)
        assert {origin.path for origin in origins} == {str(counted)}


def test_where_names_documents_and_pieces_of_shards(tmp_path: Path) -> None:
    documents = [np.full(7, i) for i in range(1, 40)]
    prefix = write_megatron(tmp_path / "m", documents)
    loader = lt.TokenLoader(prefix, 20, 2, documents="index", pack=True)
    for step, batch in enumerate(islice(loader, 5)):
        for origin in loader.where(step):
            assert origin.document is not None
            assert origin.tokens == 7
            assert origin.document + 1 in batch.x[origin.row]


def test_train_and_val_share_no_token_and_leave_out_none(counted: Path) -> None:
    parts = [lt.TokenLoader(counted, 9, 4, split=(part, 0.9), epochs=1, token_dtype="u2") for part in ("train", "val")]
    for _ in range(3):
        train, val = ({int(t) for x, y in loader for t in (*x.ravel(), *y.ravel())} for loader in parts)
        assert max(train) < 4500 <= min(val)
    assert {
        int(t) for x, _ in lt.TokenLoader(counted, 9, 4, split=("val", 0.9), epochs=1, shuffle=False) for t in x[:, 0]
    }
    drawn = [parts[1].sample()[0].min() for _ in range(20)]
    assert min(drawn) >= 4500
    for wrong in (("test", 0.5), ("train", 1.5)):
        with pytest.raises(ValueError, match="split"):
            lt.TokenLoader(counted, 9, 4, split=wrong)  # type: ignore[arg-type]


def test_documents_are_not_cut_by_a_split(tmp_path: Path) -> None:
    documents = [np.full(7, i) for i in range(1, 101)]
    prefix = write_megatron(tmp_path / "m", documents)
    seen = []
    for part in ("train", "val"):
        loader = lt.TokenLoader(prefix, 20, 2, documents="index", pack=True, split=(part, 0.8), epochs=1)
        seen.append({int(t) for batch in loader for t in batch.x.ravel()} - {0})
    assert not seen[0] & seen[1]
    assert seen[0] | seen[1] == set(range(1, 101))


def test_no_window_touches_what_is_skipped(counted: Path) -> None:
    skip = [(1000, 1100), (0, 5), (4990, 6000)]
    loader = lt.TokenLoader(counted, 9, 4, skip=skip, epochs=1, token_dtype="u2")
    for _ in range(3):
        found = {int(t) for x, y in loader for t in (*x.ravel(), *y.ravel())}
        assert not found & {*range(1000, 1100), *range(5), *range(4990, 5000)}
    assert len(found) > 4800


def test_rows_of_a_matrix_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.arange(600, dtype=np.uint16).reshape(60, 10))
    batch = next(lt.TokenLoader(path, 19, 2, documents="index", shuffle=False))
    assert batch.x[0].tolist() == list(range(19))
    assert batch.cu_seqlens.tolist() == [0, 10, 19, 29, 38]
    assert lt.TokenLoader(path, 19, 2).tokens == 600


def test_a_corpus_is_scanned_for_documents_once(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    data = np.random.default_rng(0).integers(1, 50_000, 1_000_000).astype(np.uint16)
    data[::700] = 0
    data.tofile(path)
    first = lt.TokenLoader(path, 99, 4, documents=0, pack=True)
    cache = tmp_path / "train.bin.documents-0.npy"
    assert cache.exists()
    stamp = cache.stat().st_mtime_ns
    second = lt.TokenLoader(path, 99, 4, documents=0, pack=True)
    assert second.packing == first.packing
    assert cache.stat().st_mtime_ns == stamp
    broken = bytearray(cache.read_bytes())
    broken[-3] ^= 1
    cache.write_bytes(broken)
    assert lt.TokenLoader(path, 99, 4, documents=0, pack=True).packing == first.packing
    data[5] = 0
    data.tofile(path)
    assert lt.TokenLoader(path, 99, 4, documents=0, pack=True).packing.documents == first.packing.documents + 1
