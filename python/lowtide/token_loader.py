"""lt.TokenLoader: batches of token windows for training a language model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from . import _core, _dtypes, _loader
from ._types import DTypeLike, Like

Path = str | os.PathLike[str]


class DocumentBatch(NamedTuple):
    """A batch that knows its documents.

    >>> with lt.TokenLoader(tokens_path, block=8, batch=4, documents=7) as loader:
    ...     batch = next(iter(loader))
    >>> batch.positions.shape, batch.mask.dtype, int(batch.cu_seqlens[0])
    ((4, 8), dtype('bool'), 0)
    """

    x: Any
    y: Any
    positions: Any
    """(batch, block) int32: 0 where a document, or the window, begins."""
    cu_seqlens: Any
    """int32 bounds of the documents in the flattened batch, as variable-length attention takes them."""
    mask: Any
    """(batch, block) bool: False where y belongs to another document than x, or is padding."""
    max_seqlen: int
    """The longest stretch between two bounds, padding included, as variable-length attention takes it."""


class Origin(NamedTuple):
    """Where a part of a batch's row comes from."""

    row: int
    path: str
    offset: int
    """Bytes in the file."""
    tokens: int
    token: int
    """The first of them, counted through all files: what ``skip`` takes."""
    document: int | None
    """The document that it belongs to, where they are numbered (``documents="index"`` or ``pack=True``)."""


class Packing(NamedTuple):
    """What best-fit packing of whole documents came to."""

    documents: int
    cut: int
    """Documents longer than a window."""
    windows: int
    waste: float
    """Share of the windows' tokens that is padding."""


class TokenLoader(_loader.CoreLoader):
    """Windows of ``block + 1`` tokens, shuffled globally, each exactly once an epoch; made ahead within the budget.

    ``paths``: one or several files or globs, read as one stream: bare uint16 or uint32 (nanoGPT, OLMo), llm.c,
    Megatron's .bin/.idx, LITPKDS, .npy. Each batch is ``x, y`` of shape (batch, block), y being x shifted by one.
    Where windows begin moves from one shuffled epoch to the next, so that every token but the first is a target.

    >>> loader = lt.TokenLoader(tokens_path, block=8, batch=4, seed=1337)
    >>> x, y = next(iter(loader))
    >>> x.shape, x.dtype, bool((x[:, 1:] == y[:, :-1]).all())
    ((4, 8), dtype('int64'), True)
    >>> state = loader.state_dict()                    # a few integers: json.dumps(state) is under 1 KiB
    >>> x, y = loader.sample()                         # uniformly random windows, as nanoGPT's get_batch
    >>> loader.close()

    :param epochs: epochs of one ``for`` loop; None never ends.
    :param overlap: tokens a window shares with the one before; 1 makes every token but the first a target.
    :param documents: the token that ends a document, or "index" for Megatron's .idx and the rows of .npy files of two
        dimensions. Batches are then :class:`DocumentBatch`: positions, cu_seqlens and a loss mask beside x and y.
    :param pack: whole documents, best fit first, instead of windows cut anywhere; ``pad`` fills the rest.
    :param ignore_index: what y is where the mask is False, in padding and at targets of another document: -100 is what
        torch's cross_entropy leaves out. Without it only padding differs from the tokens, and is ``pad``.
    :param moving: False begins the windows of every epoch at the same places, as ``shuffle=False`` does.
    :param split: ``("train", 0.999)`` is the first 99.9 % of the tokens, ``("val", 0.999)`` the rest; cut between two
        documents where they are numbered.
    :param skip: ranges of tokens, as ``(begin, end)``, that no window touches: see :meth:`where`.
    :param transform: called with every batch, in the thread that asks for it; its result is the batch. If it raises,
        the batch comes again.
    :param vocab: tokens from this number on are an error that names the file and the place.
    :param token_dtype: of files without a header; told from the content by default. ``">u2"`` is big-endian.
    :param like: "numpy", or "torch" for tensors of the same memory.
    :param pin: "auto": page-locked memory, for ``x.to("cuda", non_blocking=True)``, if ``like="torch"`` and CUDA is
        there. Exactly as large as the batches; where CUDA refuses, ordinary memory, and ``repr`` says why. This was
        tested against a stand-in for CUDA's driver, and has not run on a GPU.
    """

    def __init__(
        self,
        paths: Path | Sequence[Path],
        block: int,
        batch: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        dtype: DTypeLike = "int64",
        rank: int = 0,
        world: int = 1,
        epochs: int | None = None,
        drop_last: bool = False,
        overlap: int = 0,
        documents: int | str | None = None,
        pack: bool = False,
        pad: int = 0,
        ignore_index: int | None = None,
        moving: bool = True,
        split: tuple[Literal["train", "val"], float] | None = None,
        skip: Sequence[tuple[int, int]] = (),
        transform: Callable[..., object] | None = None,
        vocab: int | None = None,
        token_dtype: DTypeLike | None = None,
        like: Like = "numpy",
        pin: bool | str = "auto",
    ) -> None:
        self._like = _loader.check_like(like)
        self._pin = _loader.check_pin(pin, like)
        self._share = _loader.share(batch, rank, world, epochs, drop_last)
        kind, eot = _documents(documents)
        names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        told, big_endian = (None, False) if token_dtype is None else _dtypes.core_name(token_dtype)
        self._arguments: dict[str, Any] = {
            "paths": [os.fspath(name) for name in names],
            "block": int(block),
            "shuffle": bool(shuffle),
            "dtype": _dtypes.core_name(dtype)[0],
            "token_dtype": told,
            "token_big_endian": big_endian,
            "vocabulary": vocab,
            "overlap": int(overlap),
            "documents": kind,
            "eot": eot,
            "pack": bool(pack),
            "pad": int(pad),
            "ignore_index": None if ignore_index is None else int(ignore_index),
            "moving": bool(moving),
            "split": _split(split),
            "skip": [(int(begin), int(end)) for begin, end in skip],
        }
        self._start(_loader.check_seed(seed))
        self._transform = transform
        self._set_plain()

    def _start(self, seed: int) -> None:
        self._core = _core.TokenLoader(share=self._share, seed=seed, pin=self._pin, **self._arguments)

    def _set_plain(self) -> None:
        self._plain = self._arguments["documents"] == "none" and self._like == "numpy" and self._transform is None

    @property
    def tokens(self) -> int:
        """Tokens in all files together."""
        count: int = self._core.tokens
        return count

    @property
    def windows(self) -> int:
        """Windows in an epoch."""
        count: int = self._core.samples_per_epoch
        return count

    @property
    def files(self) -> list[str]:
        """The files, in the order in which they make up the stream."""
        names: list[str] = self._core.files
        return names

    @property
    def token_dtype(self) -> Any:
        """The NumPy dtype of the tokens on disk."""
        return _dtypes.numpy_dtype(self._core.token_dtype)

    @property
    def block(self) -> int:
        """Tokens of a row of x."""
        block: int = self._arguments["block"]
        return block

    @property
    def packing(self) -> Packing | None:
        """How documents were packed, with ``pack=True``."""
        report = self._core.packing()
        return None if report is None else Packing(*report)

    def _next(self) -> Any:
        if self._plain:
            return self._core.next()
        return self._made() if self._transform is None else self._transformed(self._made)

    def _made(self) -> Any:
        batch = self._core.next()
        return None if batch is None else self._finished(batch)

    def __iter__(self) -> Any:
        self._begin_loop()
        return iter(self._core.next if self._plain else self._next, None)

    def sample(self) -> Any:
        """One batch of windows that begin anywhere, drawn uniformly with replacement: nanoGPT's get_batch.

        The draws are a stream of their own, seeded and part of the state like the epochs.
        """
        batch = self._core.sample()
        if self._plain:
            return batch
        return self._finished(batch) if self._transform is None else self._transform(self._finished(batch))

    def _finished(self, batch: tuple[Any, ...]) -> Any:
        return self._handed_over(batch if len(batch) == 2 else DocumentBatch(*batch))

    def where(self, step: int) -> list[Origin]:
        """What the batch of a step is made of: files, offsets, documents.

        Steps are counted from the beginning of the stream, with the batch, rank and world that the loader has now.

        >>> loader = lt.TokenLoader(tokens_path, block=8, batch=2, shuffle=False)
        >>> [(origin.row, origin.offset, origin.tokens) for origin in loader.where(step=3)]
        [(0, 108, 9), (1, 126, 9)]
        """
        if step < 0:
            raise ValueError(f"step must not be negative, but it is {step}")
        return [Origin(*origin) for origin in self._core.where(step)]

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the loader stands, behind the last batch it gave: small, exact, JSON.

        ``ahead`` counts batches from here: where the loader will stand after so many more.

        >>> loader = lt.TokenLoader(tokens_path, block=8, batch=4)
        >>> state = loader.state_dict()
        >>> state["epoch"], state["position"]
        (0, 0)
        """
        seed, position, ended, sampled, windows, options, data = self._core.state(ahead)
        return _loader.pack_state(
            "tokens",
            windows,
            position,
            seed=seed,
            ended=ended,
            sampled=sampled,
            windows=windows,
            options=options,
            data=_loader.pack_data(data),
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state; batch, rank and world may be others than they were.

        ValueError if the options make another stream; DataChangedError, with the file's name, if the data is another.
        """
        fields, position = _loader.unpack_state(state, "tokens", "windows")
        with _loader.damage("tokens"):
            converted = (
                _loader.whole(fields, "seed"),
                position,
                bool(fields["ended"]),
                _loader.whole(fields, "sampled"),
                _loader.whole(fields, "windows"),
                str(fields["options"]),
                _loader.unpack_data(fields["data"]),
            )
        self._core.load(*converted)

    def stats(self) -> _loader.LoaderStats:
        """Batches, tokens a second, who waited for whom, and the bytes held."""
        counts = self._core.stats()
        return _loader.LoaderStats(tokens=counts["samples"] * self.block, **counts)

    def __repr__(self) -> str:
        return (
            f"<lowtide.TokenLoader {self._core.name!r}: {self.tokens:,} tokens, {self.windows:,} windows of "
            f"{self.block} + 1, {self._share_text()}>"
        )


def _split(split: tuple[str, float] | None) -> tuple[bool, float] | None:
    if split is None:
        return None
    part, fraction = split
    if part not in ("train", "val"):
        raise ValueError(f'split must be ("train", fraction) or ("val", fraction), not {split!r}')
    return part == "train", float(fraction)


def _documents(documents: int | str | None) -> tuple[str, int]:
    if documents is None:
        return "none", 0
    if documents == "index":
        return "index", 0
    if isinstance(documents, bool) or not hasattr(documents, "__index__") or int(documents) < 0:
        raise ValueError(f'documents must be the token that ends a document, or "index", not {documents!r}')
    return "eot", int(documents)
