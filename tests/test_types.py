"""Type checkers find the package typed."""

from importlib.resources import files

import pytest


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi"])
def test_what_type_checkers_look_for_is_installed(name: str) -> None:
    assert files("lowtide").joinpath(name).is_file()
