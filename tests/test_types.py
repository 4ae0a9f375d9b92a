"""Type checkers find the package typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.resources import files

import pytest

import lowtide as lt


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi"])
def test_what_type_checkers_look_for_is_installed(name: str) -> None:
    assert files("lowtide").joinpath(name).is_file()


TOUCHED = [
    lt.open,
    lt.create,
    lt.save,
    lt.set_budget,
    lt.budget,
    lt.Array.__getitem__,
    lt.Array.read,
    lt.Array.blocks,
    lt.Writer.__setitem__,
    lt.Writer.append,
    lt.TokenLoader.__init__,
    lt.Mixture.__init__,
]


@pytest.mark.parametrize("function", TOUCHED, ids=lambda function: function.__qualname__)
def test_what_people_pass_in_has_a_type(function: Callable[..., object]) -> None:
    parameters = inspect.signature(function).parameters.values()
    given = {parameter.name: parameter.annotation for parameter in parameters if parameter.name != "self"}
    assert inspect.Parameter.empty not in given.values()
    assert [name for name, annotation in given.items() if "Any" in annotation] == []
    words = {"mode", "order", "format", "like", "until"} & set(given)
    assert [name for name in words if "str" in given[name]] == []
