"""``@pytest.mark.flat_memory(per_step="10KiB", steps=50)``: the test is run again and again, and fails if memory grows.

pytest finds this by itself where lowtide is installed, and imports lowtide only for tests that are marked.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "flat_memory(per_step='10KiB', steps=50): run the test repeatedly; it fails if memory grows a step"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    marker = pyfuncitem.get_closest_marker("flat_memory")
    if marker is not None:
        from lowtide.doctor import check_flat

        test = pyfuncitem.obj
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        check_flat(lambda: test(**arguments), **marker.kwargs)
    yield
