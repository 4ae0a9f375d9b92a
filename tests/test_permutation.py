"""lt.Permutation: every index once, wherever one asks, and the same order for ever."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

WORDS = st.integers(0, 2**64 - 1)
SMALL = st.builds(lt.Permutation, st.integers(1, 5_000), WORDS, WORDS)
LARGE = st.builds(lt.Permutation, st.one_of(st.integers(1, 2**63), st.integers(2**63 - 9, 2**63)), WORDS, WORDS)
MASK = 2**64 - 1


def mixed(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def table(n: int, start: int) -> list[int]:
    order = [0] * n
    for i in range(n):
        at = mixed(start + (i + 1) * 0x9E3779B97F4A7C15 & MASK) * (i + 1) >> 64
        order[i], order[at] = order[at], i
    return order


def model(n: int, seed: int, stream: int) -> Callable[[int], int]:
    """The definition of the order, which may never change."""
    bits = (n - 1).bit_length()
    left_bits, right_bits = bits // 2, bits - bits // 2
    start = mixed(mixed(mixed(seed + 0x9E3779B97F4A7C15 & MASK) ^ stream) + n * 0x9E3779B97F4A7C15 & MASK)
    if n <= 32:
        return table(n, start).__getitem__
    keys = [mixed(start + (i + 1) * 0x9E3779B97F4A7C15 & MASK) for i in range(8)]

    def some_bits(half: int, key: int, count: int) -> int:
        z = (half ^ key) * 0xBF58476D1CE4E5B9 & MASK
        return ((z ^ z >> 32) * 0x94D049BB133111EB & MASK) >> 64 - count

    def index(value: int) -> int:
        while True:
            left, right = divmod(value, 1 << right_bits)
            for even, odd in zip(keys[::2], keys[1::2], strict=True):
                left ^= some_bits(right, even, left_bits)
                right ^= some_bits(left, odd, right_bits)
            value = left << right_bits | right
            if value < n:
                return value

    return index


@given(p=LARGE, data=st.data())
def test_the_order_is_the_one_defined(p: lt.Permutation, data: st.DataObject) -> None:
    expected = model(p.size, p.seed, p.stream)
    for position in {0, p.size - 1, data.draw(st.integers(0, p.size - 1))}:
        assert p[position] == expected(position)


@given(p=SMALL)
def test_every_index_comes_once(p: lt.Permutation) -> None:
    assert sorted(p) == list(range(len(p)))
    assert sorted(p[:].tolist()) == list(range(len(p)))


@given(p=LARGE, data=st.data())
def test_inverse_finds_the_position(p: lt.Permutation, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, p.size - 1), min_size=1, max_size=20))
    array = np.array(positions, dtype=np.int64)
    assert p.inverse(p[array]).tolist() == positions
    assert [p.inverse(p[i]) for i in positions] == positions


@given(p=SMALL, data=st.data())
def test_positions_work_as_those_of_a_list_do(p: lt.Permutation, data: st.DataObject) -> None:
    order = list(p)
    bound = st.none() | st.integers(-len(p) - 2, len(p) + 2)
    index = slice(data.draw(bound), data.draw(bound), data.draw(bound.filter(lambda step: step != 0)))
    assert p[index].tolist() == order[index]
    position = data.draw(st.integers(-len(p), len(p) - 1))
    assert p[position] == p[np.int16(position)] == order[position]
    assert type(p[position]) is int
    with pytest.raises(IndexError):
        p[data.draw(st.sampled_from([len(p), -len(p) - 1, 2**70, -(2**70)]))]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", ">i8", ">u2", "uint32", "int64", "uint64"])
def test_arrays_of_every_integer_dtype_are_positions(dtype: str) -> None:
    p = lt.Permutation(100, seed=3)
    positions = np.arange(100).astype(dtype)
    found = p[positions]
    assert found.dtype == np.int64
    assert found.tolist() == list(p)
    assert p.inverse(found.astype(dtype)).tolist() == list(range(100))


def test_arrays_keep_their_shape_however_they_lie_in_memory() -> None:
    p = lt.Permutation(1000)
    grid = np.arange(60).reshape(3, 4, 5)
    expected = np.array(list(p))
    unaligned = np.frombuffer(b"\0" + np.arange(9).tobytes(), dtype=np.int64, offset=1)
    frozen = np.arange(9)
    frozen.flags.writeable = False
    for positions in (grid, grid.T, grid[:, ::-2], np.asfortranarray(grid), unaligned, frozen, np.array(7), grid[:0]):
        np.testing.assert_array_equal(p[positions], expected[positions], strict=True)
    np.testing.assert_array_equal(p[-grid - 1], expected[-grid - 1])
    assert p[[4, 2]].tolist() == [p[4], p[2]]
    assert p[[]].shape == (0,)


def test_results_are_paid_for_until_they_are_gone(held: Callable[[], dict[str, int]]) -> None:
    p = lt.Permutation(2**40)
    found = p[np.arange(100_000)]
    assert held()["results"] >= found.nbytes
    del found
    assert held() == {}
    with pytest.raises(lt.BudgetError):
        p[:]


@pytest.mark.parametrize(
    ("positions", "named"),
    [
        (np.array([0, 10]), "position 10 is out of bounds for a permutation of 10"),
        (np.array([0, -11]), "position -11 "),
        (np.array([2**64 - 1], dtype=np.uint64), "position 18446744073709551615 "),
        (np.array([-(2**63)]), "position -9223372036854775808 "),
        (10, "position 10 is out of bounds for a permutation of 10"),
        (-11, "position -11 "),
        (np.array([0.5]), "float64"),
        (np.array([True]), "bool"),
        ("3", "U1"),
    ],
)
def test_what_is_no_position_is_refused_by_name(positions: Any, named: str) -> None:
    with pytest.raises(IndexError, match=named):
        lt.Permutation(10)[positions]


@pytest.mark.parametrize("index", [10, -1, np.array([3, -1]), np.array([10], dtype=np.uint64), [-(2**63)], 2**64])
def test_what_is_no_index_has_no_inverse(index: Any) -> None:
    with pytest.raises(IndexError, match=r"index -?[0-9]+ is out of bounds for a permutation of 10"):
        lt.Permutation(10).inverse(index)


@pytest.mark.parametrize("arguments", [(0,), (-1,), (2**63 + 1,), (5, -1), (5, 2**64), (5, 0, -1), (5, 0, 2**64)])
def test_numbers_out_of_range_are_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"{arguments[-1]}"):
        lt.Permutation(*arguments)


def test_what_is_no_integer_is_no_size() -> None:
    with pytest.raises(TypeError):
        lt.Permutation(5.5)  # type: ignore[arg-type]


def test_the_greatest_size_works_though_len_cannot_say_it() -> None:
    p = lt.Permutation(2**63, seed=1)
    assert p.size == sys.maxsize + 1
    with pytest.raises(OverflowError):
        len(p)
    assert len(lt.Permutation(sys.maxsize)) == sys.maxsize
    assert p[-1] == p[2**63 - 1]
    assert p[:: 2**62].tolist() == [p[0], p[2**62]]
    assert p[:-3:-1].tolist() == [p[-1], p[-2]]
    assert p[5 : 2**63 : 10**30].tolist() == [p[5]]
    with pytest.raises(lt.BudgetError):
        p[:]


@given(p=LARGE)
@cases(50)
def test_pickles_and_copies_are_equal(p: lt.Permutation) -> None:
    for other in (pickle.loads(pickle.dumps(p)), copy.copy(p), copy.deepcopy(p)):
        assert other == p
        assert hash(other) == hash(p)
        assert other[0] == p[0]
        assert repr(other) == repr(p)


def test_size_seed_and_stream_make_it_another() -> None:
    same, others = (
        lt.Permutation(50, 1, 2),
        [lt.Permutation(51, 1, 2), lt.Permutation(50, 2, 2), lt.Permutation(50, 1, 3)],
    )
    assert all(other != same for other in others)
    assert all(list(other) != list(same) for other in others)
    assert same != 50
    assert len({same, *others, lt.Permutation(50, seed=1, stream=2)}) == 4


def test_it_says_what_it_is() -> None:
    assert repr(lt.Permutation(np.int64(7), seed=np.uint8(3))) == "lowtide.Permutation(7, seed=3, stream=0)"


def test_membership_asks_for_no_search() -> None:
    p = lt.Permutation(2**63)
    assert 2**63 - 1 in p
    assert 2**63 not in p
    assert -1 not in p
    assert "a" not in p


def test_iteration_starts_at_once_and_holds_nothing(held: Callable[[], dict[str, int]]) -> None:
    endless = iter(lt.Permutation(2**63))
    assert next(endless) == lt.Permutation(2**63)[0]
    assert held() == {}
