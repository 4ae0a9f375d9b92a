"""lowtide info on token files: what their headers say, and what reading every token adds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import token_files
from command import run, run_json
from token_files import EVALUATION, GPT2, LLAMA3

EOT = 50256


@pytest.fixture
def tokens() -> np.ndarray:
    """Five documents, of which the last does not end."""
    values = np.random.default_rng(0).integers(0, 50_000, 10_000)
    values[[999, 1000, 4000, 9000]] = EOT
    return values


def info(*args: str | Path) -> dict[str, Any]:
    (file,) = run_json("info", *args)["files"]
    result: dict[str, Any] = file
    return result


def refused(*args: str | Path) -> str:
    """The error of a file that is bad: exit 1."""
    (file,) = run_json("info", *args, status=1)["files"]
    message: str = file["error"]["message"]
    return message


# By the header alone


@pytest.mark.parametrize(("magic", "dtype"), [(GPT2, "uint16"), (LLAMA3, "uint32")])
def test_llmc_says_what_its_header_says(tmp_path: Path, tokens: np.ndarray, magic: int, dtype: str) -> None:
    path = token_files.write_llmc(tmp_path / "t.bin", tokens, magic)
    answer = info(path, "--block", "1024")
    assert answer["format"] == "llm.c"
    assert (answer["tokens"], answer["dtype"], answer["endian"]) == (10_000, dtype, "little")
    assert answer["dtype_guessed"] is False
    assert answer["data_bytes"] == 10_000 * np.dtype(dtype).itemsize
    assert answer["documents"] is answer["greatest_token"] is answer["vocabulary_at_least"] is None
    assert answer["windows"] == {"block": 1024, "count": 10_000 // 1025, "left_over_tokens": 10_000 % 1025}
    assert "io_mode" in answer


def test_litpkds_says_what_its_header_says(tmp_path: Path, tokens: np.ndarray) -> None:
    answer = info(token_files.write_litpkds(tmp_path / "t.bin", tokens, "int32"))
    assert (answer["format"], answer["tokens"], answer["dtype"]) == ("litpkds", 10_000, "int32")


@pytest.mark.parametrize("ending", ["", ".bin", ".idx"])
@pytest.mark.parametrize("multimodal", [False, True])
def test_a_megatron_pair_is_known_by_prefix_and_either_file(tmp_path: Path, ending: str, multimodal: bool) -> None:
    documents = [range(10), range(20), range(30)]
    prefix = token_files.write_megatron(tmp_path / "wiki", documents, "int32", multimodal, sequences_per_document=2)
    answer = info(f"{prefix}{ending}")
    assert (answer["format"], answer["tokens"], answer["dtype"]) == ("megatron", 60, "int32")
    assert (answer["documents"], answer["sequences"], answer["multimodal"]) == (3, 6, multimodal)


def test_the_text_says_how_to_learn_more(tmp_path: Path, tokens: np.ndarray) -> None:
    path = token_files.write_llmc(tmp_path / "t.bin", tokens)
    text = run("info", path).stdout
    assert "10000" in text
    assert "--tokens --eot 50256" in text
    assert "not known: --tokens reads them all" in text
    assert "--tokens" in run("info", token_files.write_nanogpt(tmp_path / "bare.bin", tokens)).stdout


def test_a_glob_is_one_stream(tmp_path: Path, tokens: np.ndarray) -> None:
    for i, part in enumerate(np.array_split(tokens, 3)):
        token_files.write_llmc(tmp_path / f"shard_{i}.bin", part)
    answer = info(f"{tmp_path}/shard_*.bin", "--tokens", "--eot", str(EOT))
    assert (answer["files"], answer["tokens"], answer["documents"]) == (3, 10_000, 5)


# By reading every token


@pytest.mark.parametrize("budget", ["16MiB", "1GiB"])
def test_tokens_are_counted_by_reading_them_all(tmp_path: Path, tokens: np.ndarray, budget: str) -> None:
    path = token_files.write_nanogpt(tmp_path / "train.bin", np.tile(tokens, 300))
    answer = info(path, "--tokens", "--eot", str(EOT), "--budget", budget)
    assert (answer["format"], answer["dtype"], answer["dtype_guessed"]) == ("raw", "uint16", True)
    assert (answer["tokens"], answer["documents"], answer["eot_count"]) == (3_000_000, 1201, 1200)
    assert (answer["greatest_token"], answer["vocabulary_at_least"]) == (EOT, EOT + 1)


def test_a_stream_that_ends_with_eot_has_no_document_after_it(tmp_path: Path) -> None:
    path = token_files.write_nanogpt(tmp_path / "t.bin", [5, 6, 9, 7, 9])
    answer = info(path, "--tokens", "--eot", "9")
    assert (answer["documents"], answer["eot_count"]) == (2, 2)
    answer = info(path, "--tokens", "--eot", "8")
    assert (answer["documents"], answer["eot_count"]) == (1, 0)


def test_wider_tokens_without_a_header_are_guessed_or_told(tmp_path: Path) -> None:
    tokens = np.random.default_rng(1).integers(0, 128_256, 5000)
    path = token_files.write_olmo_npy(tmp_path / "part.npy", tokens)
    guessed = info(path, "--tokens")
    assert (guessed["tokens"], guessed["dtype"], guessed["greatest_token"]) == (5000, "uint32", tokens.max())
    told = info(path, "--tokens", "--dtype", "uint16")
    assert (told["tokens"], told["dtype"], told["dtype_guessed"]) == (10_000, "uint16", False)


def test_an_npy_array_of_tokens_is_one_too(tmp_path: Path, tokens: np.ndarray) -> None:
    np.save(tmp_path / "t.npy", tokens.astype(">i4"))
    answer = info(tmp_path / "t.npy", "--tokens")
    assert (answer["format"], answer["dtype"], answer["endian"]) == ("npy", "int32", "big")
    assert answer["greatest_token"] == EOT
    assert "shape" in info(tmp_path / "t.npy")


def test_negative_tokens_are_told(tmp_path: Path) -> None:
    prefix = token_files.write_megatron(tmp_path / "sft", [[3, -100, 4], [-1, 9]], "int32")
    answer = info(prefix, "--tokens", "--eot", "9")
    assert (answer["greatest_token"], answer["least_token"]) == (9, -100)
    assert (answer["documents"], answer["eot_count"]) == (2, 1)
    assert "-100, which is no token" in run("info", prefix, "--tokens").stdout


# Refusals


def test_damaged_files_are_a_problem_with_the_numbers(tmp_path: Path, tokens: np.ndarray) -> None:
    path = token_files.write_llmc(tmp_path / "t.bin", tokens)
    os.truncate(path, 21_000)
    assert "has 21000, 24 too few" in refused(path)
    assert "evaluation file" in refused(token_files.write_llmc(tmp_path / "e.bin", tokens, EVALUATION))
    prefix = token_files.write_megatron(tmp_path / "wiki", [range(10)])
    os.truncate(f"{prefix}.idx", 50)
    assert "has 50, 12 too few" in refused(prefix)
    (tmp_path / "odd.bin").write_bytes(bytes(1001))
    assert 'dtype="uint8"' in refused(tmp_path / "odd.bin", "--tokens")
    (tmp_path / "empty.bin").touch()
    assert "no tokens" in refused(tmp_path / "empty.bin", "--tokens")
    np.save(tmp_path / "x.npy", np.zeros((3, 4, 5), np.uint16))
    assert "one dimension" in refused(tmp_path / "x.npy", "--tokens")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("llmc.bin", ["--eot", "9"]),
        ("bare.bin", ["--eot", "9"]),
        ("bare.bin", ["--block", "8"]),
        ("bare.bin", ["--tokens", "--block", "0"]),
        ("bare.bin", ["--tokens", "--block", "-8"]),
        ("bare.bin", ["--tokens", "--eot", "65536"]),
        ("bare.bin", ["--tokens", "--eot", "-1"]),
        ("bare.bin", ["--tokens", "--dtype", "float32"]),
        ("bare.bin", ["--tokens", "--dtype", "u2", "--shape", "5,2"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_options_that_cannot_be_meant_are_wrong_use(tmp_path: Path, name: str, options: list[str]) -> None:
    token_files.write_llmc(tmp_path / "llmc.bin", range(100))
    token_files.write_nanogpt(tmp_path / "bare.bin", range(100))
    done = run("info", tmp_path / name, *options)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("lowtide: ")


# Other verbs


def test_check_and_convert_read_token_files(tmp_path: Path, tokens: np.ndarray) -> None:
    path = token_files.write_llmc(tmp_path / "t.bin", tokens)
    (checked,) = run_json("check", path)["files"]
    assert (checked["ok"], checked["format"], checked["shape"]) == (True, "llm.c", [10_000])
    assert run("convert", path, tmp_path / "t.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), tokens)


def test_check_of_megatrons_index_says_where_to_look(tmp_path: Path) -> None:
    prefix = token_files.write_megatron(tmp_path / "wiki", [range(10)])
    done = run("check", f"{prefix}.idx")
    assert done.returncode == 1
    assert "Megatron's index" in done.stderr
    assert f"lowtide info {prefix}.idx" in done.stderr
