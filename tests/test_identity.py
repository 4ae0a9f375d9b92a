"""An array is of one file in one state: another process, a later moment or another folder get that one or a refusal."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """As `ulimit -n` would: every file that is not being read gives up its descriptors soon."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _open_many(folder: Path) -> list[lt.Array]:
    folder.mkdir()
    for i in range(100):
        np.save(folder / f"{i}.npy", np.arange(3))
    return [lt.open(folder / f"{i}.npy") for i in range(100)]


class TestPickles:
    def test_a_view_made_again_is_the_same_view(self, npy: File) -> None:
        expected = np.arange(60).reshape(3, 4, 5)
        view = lt.open(npy(expected))[1:, ::-1].transpose(2, 0, 1)
        again = pickle.loads(pickle.dumps(view))
        np.testing.assert_array_equal(again.compute(), expected[1:, ::-1].transpose(2, 0, 1), strict=True)

    @pytest.mark.parametrize("index", [[2, 0, 2], np.array([True, False, True])])
    def test_a_gather_can_be_pickled_and_keeps_its_index(self, npy: File, index: np.ndarray) -> None:
        expected = np.arange(12).reshape(3, 4)
        given = np.array(index)
        gather = lt.open(npy(expected))[given][:, 1:]
        given[:] = 0
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(gather)).compute(), expected[np.array(index)][:, 1:])

    def test_a_long_chain_of_views_is_no_larger_than_a_short_one(self, npy: File) -> None:
        expected = np.arange(2000 * 3).reshape(2000, 3)
        view = lt.open(npy(expected))
        for _ in range(1500):
            view, expected = view[1:], expected[1:]
        for _ in range(100):
            view, expected = view[::-1].T[None, ..., 0], expected[::-1].T[None, ..., 0]
            view, expected = view[0, :, None], expected[0, :, None]
        assert len(pickle.dumps(view)) < 2000
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(view)).compute(), expected)

    def test_a_relative_path_is_pickled_with_its_folder(self, npy: File, monkeypatch: pytest.MonkeyPatch) -> None:
        path = npy(np.arange(3))
        monkeypatch.chdir(path.parent)
        pickled = pickle.dumps(lt.open(path.name))
        monkeypatch.chdir("/")
        assert pickle.loads(pickled).read().tolist() == [0, 1, 2]

    def test_a_file_written_since_is_refused_by_name(self, npy: File) -> None:
        path = npy(np.arange(3))
        pickled = pickle.dumps(lt.open(path))
        np.save(path, np.arange(3, 6))
        with pytest.raises(lt.DataChangedError, match=rf"{path.name} is changed.*lt\.open"):
            pickle.loads(pickled)

    def test_a_file_put_in_its_place_is_refused_by_name(self, npy: File) -> None:
        path = npy(np.arange(3))
        pickled = pickle.dumps(lt.open(path))
        np.save(path.with_name("other.npy"), np.arange(3))
        path.with_name("other.npy").replace(path)
        with pytest.raises(lt.DataChangedError, match=rf"{path.name} is another file"):
            pickle.loads(pickled)

    def test_one_that_several_may_write_to_is_the_same_file_in_any_state(self, npy: File) -> None:
        path = npy(np.arange(3))
        array = lt.open(path, "r+")
        pickled = pickle.dumps(array)
        array[0] = 7
        assert pickle.loads(pickled).read().tolist() == [7, 1, 2]

    def test_the_token_of_dask_and_joblib_tells_states_apart(self, npy: File) -> None:
        path = npy(np.arange(3))
        before = lt.open(path)
        same = lt.open(path)
        tokens = [before.__dask_tokenize__(), same.__dask_tokenize__()]
        pickled = pickle.dumps(before)
        np.save(path, np.arange(3, 6))
        after = lt.open(path)
        assert tokens[0] == tokens[1] != after.__dask_tokenize__()
        assert before[1:].__dask_tokenize__() != before.__dask_tokenize__()
        assert pickled != pickle.dumps(after)


class TestCopies:
    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_copy_is_of_the_file_that_is_open(self, npy: File, copied: object) -> None:
        path = npy(np.arange(3))
        array = lt.open(path)
        path.rename(path.with_name("moved.npy"))
        np.save(path, np.arange(3, 6))
        assert copied(array).compute().tolist() == [0, 1, 2]


class TestDescriptors:
    def test_a_relative_path_is_reopened_where_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_descriptors: None
    ) -> None:
        for folder, value in (("here", 1), ("there", 2)):
            (tmp_path / folder).mkdir()
            np.save(tmp_path / folder / "x.npy", np.full(3, value))
        monkeypatch.chdir(tmp_path / "here")
        array = lt.open("x.npy", "r+")
        monkeypatch.chdir(tmp_path / "there")
        others = _open_many(tmp_path / "many")
        assert array.read().tolist() == [1, 1, 1]
        array[0] = 9
        array.flush()
        assert np.load(tmp_path / "here" / "x.npy").tolist() == [9, 1, 1]
        assert np.load(tmp_path / "there" / "x.npy").tolist() == [2, 2, 2]
        del others

    @pytest.mark.parametrize("mode", ["r", "r+"])
    def test_a_file_that_lost_its_name_stays_the_one_that_was_opened(
        self, tmp_path: Path, few_descriptors: None, mode: str
    ) -> None:
        path = tmp_path / "x.bin"
        np.arange(3).tofile(path)
        mapped = lt.memmap(path, "i8", mode)
        np.arange(3, 6).tofile(tmp_path / "other.bin")
        (tmp_path / "other.bin").replace(path)
        others = _open_many(tmp_path / "many")
        assert mapped[:].tolist() == [0, 1, 2]
        if mode == "r+":
            mapped[0] = 9
            mapped.flush()
        assert np.fromfile(path, "i8").tolist() == [3, 4, 5]
        del others

    @pytest.mark.parametrize("mode", ["r", "r+"])
    def test_another_file_under_the_name_is_never_taken_for_it(
        self, tmp_path: Path, few_descriptors: None, mode: str
    ) -> None:
        path = tmp_path / "x.bin"
        np.arange(3).tofile(path)
        mapped = lt.memmap(path, "i8", mode)
        others = _open_many(tmp_path / "many")
        np.arange(3, 6).tofile(tmp_path / "other.bin")
        (tmp_path / "other.bin").replace(path)
        with contextlib.suppress(lt.DataChangedError):
            assert mapped[:].tolist() == [0, 1, 2]
        del others

    def test_a_new_file_appears_where_its_name_meant_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "elsewhere").mkdir()
        with lt.create("new.npy", shape=(3,), dtype="i8") as writer:
            writer[:] = 5
            monkeypatch.chdir(tmp_path / "elsewhere")
        assert np.load(tmp_path / "new.npy").tolist() == [5, 5, 5]
        assert os.listdir(tmp_path / "elsewhere") == []
