"""NumPy's own tests of np.memmap with the one word changed. What they find wanting, docs/reference.md states too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

_PLUGIN = """
import numpy
import lowtide

numpy.memmap = lowtide.memmap
"""

# Each asks for the map itself, which lt.memmap does not have.
WANTING = {
    "test_getitem",
    "test_memmap_subclass",
    "test_slicing_keeps_references",
    "test_view",
}


def test_numpys_own_tests_fail_only_where_the_documents_say(tmp_path: Path) -> None:
    (tmp_path / "one_word_changed.py").write_text(_PLUGIN)
    suite = Path(np.__file__).parent / "_core" / "tests" / "test_memmap.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "one_word_changed", "-p", "no:cacheprovider", "-q", "-rA", str(suite)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes = {name: result for result, name in re.findall(r"^(PASSED|FAILED|ERROR) \S*::(\w+)", done.stdout, re.M)}
    assert len(outcomes) >= 20, done.stdout + done.stderr
    assert {name for name, result in outcomes.items() if result != "PASSED"} == WANTING, done.stdout
    documented = (Path(__file__).parent.parent / "docs" / "reference.md").read_text()
    assert all(f"`{name}`" in documented for name in WANTING)
