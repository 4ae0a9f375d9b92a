"""Every example in the docstrings and in the documents runs, and shows what it says it shows."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command
import numpy as np
import pytest

import lowtide as lt
from lowtide import _constants

ROOT = Path(__file__).parent.parent
DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))] if path.exists()]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def docstrings() -> list[doctest.DocTest]:
    names = [lt.__name__, *(f"{lt.__name__}.{module.name}" for module in pkgutil.iter_modules(lt.__path__))]
    functions = importlib.import_module("lowtide._functions")
    names += [f"{functions.__name__}.{module.name}" for module in pkgutil.iter_modules(functions.__path__)]
    without = (
        "._core",
        ".__main__",
        *(() if getattr(importlib.util.find_spec("torch"), "origin", None) else (".torch",)),
        *(() if importlib.util.find_spec("xarray") else (".xarray",)),
    )
    modules = [importlib.import_module(name) for name in names if not name.endswith(without)]
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


DOCUMENTED = re.compile(r"`lt\.(\w+)`")


def test_the_reference_names_all_that_is_public() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    table = text[text.index("## Names") : text.index("## Environment")]
    firsts = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `lt.")]
    assert sorted(name for first in firsts for name in DOCUMENTED.findall(first)) == sorted(lt.__all__)


# Numbers and dtypes have no docstring of their own.
WITHOUT_EXAMPLES = {"__version__", "__array_api_version__", "linalg", "random", *_constants.__all__}


@pytest.mark.parametrize("name", sorted(set(lt.__all__) - WITHOUT_EXAMPLES))
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(lt, name).__doc__ or "")


def test_the_readmes_first_block_runs_as_typed_in_an_empty_folder(tmp_path: Path) -> None:
    _, code = next(fenced(ROOT / "README.md", "python"))
    for _ in range(2):  # and again
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with the files that documents speak of, and the names a reader has after `import`."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.random((5000, 64), dtype=np.float32))  # enough for `lowtide bench io`
    for name in ("t.bin", "train.bin", "tokens.bin"):
        rng.integers(0, 50_000, 100_000).astype(np.uint16).tofile(name)
    return {"lt": lt, "np": np, "__name__": "__main__"}


def fenced(document: Path, language: str) -> Iterator[tuple[int, str]]:
    """The line before, and the text of, each block fenced for a language ("" for none)."""
    text = document.read_text()
    for block in re.finditer(r"^```([a-z+]*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if block[1] == language:
            yield text.count("\n", 0, block.start(2)), block[2]


each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@each_document
def test_a_document_runs_from_top_to_bottom(document: Path, reader: dict[str, Any]) -> None:
    for line, code in fenced(document, "python"):
        if ">>>" in code:
            parsed = doctest.DocTestParser().get_doctest(code, reader, document.name, str(document), line)
            report: list[str] = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(parsed, out=report.append, clear_globs=False)
            reader.update(parsed.globs)
            assert not report, "".join(report)
        else:
            exec(compile("\n" * line + code, str(document), "exec"), reader)
    reader.clear()


# Lines of a shell that are read by people only, by their first word.
NOT_RUN = {
    "make": "sets up, builds or tests the whole project",
    "git": "needs the network",
    "cmake": "builds the whole project",
}
# Arguments that stand for something of the reader's.
PLACEHOLDER = re.compile(r"\b(FILE|DIR|FOLDER)\b|…|\.\.\.")


def shell_lines(document: Path) -> Iterator[str]:
    """Lines of shell blocks and of blocks without a language that begin with a program, and `lowtide …` in the text."""
    for language in ("sh", "bash", "console"):
        for _, code in fenced(document, language):
            for line in code.replace("\\\n", " ").splitlines():
                if line.strip() and not line.lstrip().startswith("#"):
                    yield line.removeprefix("$ ")
    for _, code in fenced(document, ""):
        yield from (line for line in code.splitlines() if line.split(" ")[0] in ("lowtide", *NOT_RUN))
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`(lowtide [a-z]+ [^`]+)`", prose)


def without_remark(line: str) -> str:
    """A line up to its comment, or up to the two spaces that set an explanation apart."""
    return re.split(r"\s+#|\s{2,}", line.strip(), maxsplit=1)[0]


SHELL_LINES = list(dict.fromkeys(without_remark(line) for document in DOCUMENTS for line in shell_lines(document)))


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("line", SHELL_LINES)
def test_a_shell_line_of_a_document_runs(line: str) -> None:
    program, *arguments = shlex.split(line)
    if program in NOT_RUN:
        pytest.skip(NOT_RUN[program])
    if PLACEHOLDER.search(line):
        pytest.skip("a pattern, not a command")
    assert program == "lowtide", f"how is {program!r} run? Say in NOT_RUN why it is not"
    done = command.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout != ""


# What a C++ example of a document takes for granted.
ASSUMED = "template <class Values> void use(const Values&);\n"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")
@each_document
def test_the_cpp_of_a_document_compiles(document: Path, tmp_path: Path) -> None:
    """Against the public headers alone; tests/consumer links and runs such a program."""
    for line, code in fenced(document, "cpp"):
        included = "".join(part + "\n" for part in code.splitlines() if part.startswith("#include"))
        rest = re.sub(r"^#include.*", "", code, flags=re.MULTILINE)
        body = rest if "int main" in rest else f"void example() {{\n#line {line + 1}\n{rest}}}\n"
        source = tmp_path / "example.cpp"
        source.write_text(included + ASSUMED + body)
        options = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
        done = subprocess.run(["g++", *options, str(source)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{document.name}:{line}\n{done.stderr}"
