"""The public names, and which builtin each error is."""

from __future__ import annotations

import pytest

import lowtide as lt


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "builtin"),
        [
            (lt.BudgetError, MemoryError),
            (lt.FormatError, ValueError),
            (lt.IoError, OSError),
            (lt.UnsupportedError, NotImplementedError),
            (lt.DataChangedError, lt.Error),
            (lt.CancelledError, lt.Error),
        ],
    )
    def test_each_is_an_error_of_lowtide_and_its_builtin(self, error: type, builtin: type) -> None:
        assert issubclass(error, lt.Error)
        assert issubclass(error, builtin)

    def test_all_public_names_exist(self) -> None:
        assert [name for name in lt.__all__ if not hasattr(lt, name)] == []
