"""matplotlib draws arrays."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import lowtide as lt


def test_a_line_goes_through_the_values(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    figure, axes = plt.subplots()
    (line,) = axes.plot(array[:, 3])
    assert np.array_equal(line.get_ydata(), values[:, 3])
    plt.close(figure)


def test_a_picture_has_the_values(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    figure, axes = plt.subplots()
    assert np.array_equal(axes.imshow(array[:50]).get_array(), values[:50])
    plt.close(figure)


def test_a_histogram_counts_the_values(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    figure, axes = plt.subplots()
    for ours in (array[:, 3], array[:, :2]):
        counts, _, _ = axes.hist(ours, bins=20)
        theirs, _, _ = axes.hist(np.asarray(ours), bins=20)
        assert np.array_equal(counts, theirs)
    plt.close(figure)


def test_error_bars_are_of_the_values(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    figure, axes = plt.subplots()
    line, _, _ = axes.errorbar(np.arange(100), array[:100, 0], yerr=np.abs(values[:100, 1]))
    assert np.array_equal(line.get_ydata(), values[:100, 0])
    axes.errorbar(array[:100, 0], array[:100, 1], xerr=lt.memmap(array.path, "f8", "r", 128, (2000, 12))[:100, 2] ** 2)
    plt.close(figure)
