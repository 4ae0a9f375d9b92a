"""Every example in the docstrings and in the documents runs, and shows what it says it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt

ROOT = Path(__file__).parent.parent
DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))] if path.exists()]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def docstrings() -> list[doctest.DocTest]:
    names = [lt.__name__, *(f"{lt.__name__}.{module.name}" for module in pkgutil.iter_modules(lt.__path__))]
    modules = [importlib.import_module(name) for name in names if not name.endswith(("._core", ".__main__"))]
    found = [test for module in modules for test in doctest.DocTestFinder().find(module) if test.examples]
    return list({(test.name, test.lineno): test for test in found}.values())


def check(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("test", docstrings(), ids=lambda test: test.name)
def test_a_docstring_shows_what_happens(test: doctest.DocTest, doctest_namespace: dict[str, Any]) -> None:
    fresh = doctest.DocTest(
        test.examples, dict(doctest_namespace), test.name, test.filename, test.lineno, test.docstring
    )
    check(fresh)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with the files that documents speak of, and the names a reader has after `import`."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.random((1000, 64), dtype=np.float32))
    for name in ("t.bin", "train.bin", "tokens.bin"):
        rng.integers(0, 50_000, 100_000).astype(np.uint16).tofile(name)
    return {"lt": lt, "np": np, "__name__": "__main__"}


@pytest.mark.skipif(not DOCUMENTS, reason="no documents yet")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_runs_from_top_to_bottom(document: Path, reader: dict[str, Any]) -> None:
    text = document.read_text()
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        code = block[1]
        line = text.count("\n", 0, block.start(1))
        if ">>>" in code:
            parsed = doctest.DocTestParser().get_doctest(code, reader, document.name, str(document), line)
            report: list[str] = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(parsed, out=report.append, clear_globs=False)
            reader.update(parsed.globs)
            assert not report, "".join(report)
        else:
            exec(compile("\n" * line + code, str(document), "exec"), reader)
    reader.clear()
