"""lt.TokenLoader: batches of token windows for training a language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _core, _dtypes, _loader

Path = str | os.PathLike[str]


class DocumentBatch(NamedTuple):
    """A batch that knows its documents."""

    x: Any
    y: Any
    positions: Any
    """(batch, block) int32: 0 where a document, or the window, begins."""
    cu_seqlens: Any
    """int32 bounds of the documents in the flattened batch, as variable-length attention takes them."""
    mask: Any
    """(batch, block) bool: False where y belongs to another document than x, or is padding."""
    max_seqlen: int
    """Tokens of the longest document in the batch."""


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

    >>> loader = lt.TokenLoader(tokens_path, block=8, batch=4, seed=1337)
    >>> x, y = next(iter(loader))
    >>> x.shape, x.dtype, bool((x[:, 1:] == y[:, :-1]).all())
    ((4, 8), dtype('int64'), True)
    >>> state = loader.state_dict()                    # a few integers: json.dumps(state) is under 1 KiB
    >>> x, y = loader.sample()                         # uniformly random windows, as nanoGPT's get_batch
    >>> loader.close()

    :param epochs: epochs of one ``for`` loop; None never ends.
    :param overlap: tokens a window shares with the one before; 1 makes every token but the first a target.
    :param documents: the token that ends a document, or "index" for Megatron's .idx. Batches are then
        :class:`DocumentBatch`: positions, cu_seqlens and a loss mask beside x and y.
    :param pack: whole documents, best fit first, instead of windows cut anywhere; ``pad`` fills the rest.
    :param vocab: tokens from this number on are an error that names the file and the place.
    :param token_dtype: of files without a header; told from the content by default.
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
        dtype: Any = "int64",
        rank: int = 0,
        world: int = 1,
        epochs: int | None = None,
        drop_last: bool = False,
        overlap: int = 0,
        documents: int | str | None = None,
        pack: bool = False,
        pad: int = 0,
        vocab: int | None = None,
        token_dtype: Any = None,
        like: str = "numpy",
        pin: bool | str = "auto",
    ) -> None:
        self._like = _loader.check_like(like)
        self._pin = _loader.check_pin(pin, like)
        self._share = _loader.share(batch, rank, world, epochs, drop_last)
        kind, eot = _documents(documents)
        names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        self._arguments: dict[str, Any] = {
            "paths": [os.fspath(name) for name in names],
            "block": int(block),
            "shuffle": bool(shuffle),
            "dtype": _dtypes.core_name(dtype)[0],
            "token_dtype": None if token_dtype is None else _dtypes.core_name(token_dtype)[0],
            "vocabulary": vocab,
            "overlap": int(overlap),
            "documents": kind,
            "eot": eot,
            "pack": bool(pack),
            "pad": int(pad),
        }
        self._core = _core.TokenLoader(
            share=self._share, seed=_loader.check_seed(seed), pin=self._pin, **self._arguments
        )
        self._plain = kind == "none" and like == "numpy"

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
        batch = self._core.next()
        return batch if self._plain or batch is None else self._finished(batch)

    def __iter__(self) -> Any:
        return iter(self._core.next if self._plain else self._next, None)

    def sample(self) -> Any:
        """One batch of windows that begin anywhere, drawn uniformly with replacement: nanoGPT's get_batch.

        The draws are a stream of their own, seeded and part of the state like the epochs.
        """
        batch = self._core.sample()
        return batch if self._plain else self._finished(batch)

    def _finished(self, batch: tuple[Any, ...]) -> Any:
        return self._handed_over(batch if len(batch) == 2 else DocumentBatch(*batch))

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the loader stands, behind the last batch it gave: small, exact, JSON.

        ``ahead`` counts batches from here: where the loader will stand after so many more.

        >>> loader = lt.TokenLoader(tokens_path, block=8, batch=4)
        >>> state = loader.state_dict()
        >>> state["epoch"], state["position"]
        (0, 0)
        """
        seed, position, ended, sampled, windows, data = self._core.state(ahead)
        return _loader.pack_state(
            "tokens",
            windows,
            position,
            seed=seed,
            ended=ended,
            sampled=sampled,
            windows=windows,
            shuffle=self._arguments["shuffle"],
            data=_loader.pack_data(data),
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state; batch, rank and world may be others than they were.

        DataChangedError, with the file's name, if the data is not what it was.
        """
        fields, position = _loader.unpack_state(state, "tokens", lambda s: int(s["windows"]))
        if fields["shuffle"] != self._arguments["shuffle"]:
            raise ValueError(f"the state is of a loader with shuffle={fields['shuffle']}: use the same here")
        self._core.load(
            int(fields["seed"]),
            position,
            bool(fields["ended"]),
            int(fields["sampled"]),
            int(fields["windows"]),
            _loader.unpack_data(fields["data"]),
        )

    def stats(self) -> _loader.LoaderStats:
        """Batches, tokens a second, who waited for whom, and the bytes held."""
        counts = self._core.stats()
        return _loader.LoaderStats(tokens=counts["samples"] * self.block, **counts)

    def __reduce__(self) -> Any:
        return _rebuild, (self._arguments, self._share, self._like, self._pin, self._core.seed, self._core.state(0))

    def __repr__(self) -> str:
        return (
            f"<lowtide.TokenLoader {self._core.name!r}: {self.tokens:,} tokens, {self.windows:,} windows of "
            f"{self.block} + 1, {self._share_text()}>"
        )


def _rebuild(
    arguments: dict[str, Any], share: _loader.Share, like: str, pin: bool, seed: int, state: tuple[Any, ...]
) -> TokenLoader:
    """A loader in another process, where this one stood."""
    loader = TokenLoader.__new__(TokenLoader)
    loader._like, loader._pin, loader._share, loader._arguments = like, pin, share, arguments
    loader._core = _core.TokenLoader(share=share, seed=seed, pin=pin, **arguments)
    loader._plain = arguments["documents"] == "none" and like == "numpy"
    loader._core.load(*state)
    return loader


def _documents(documents: int | str | None) -> tuple[str, int]:
    if documents is None:
        return "none", 0
    if documents == "index":
        return "index", 0
    if isinstance(documents, bool) or not hasattr(documents, "__index__") or int(documents) < 0:
        raise ValueError(f'documents must be the token that ends a document, or "index", not {documents!r}')
    return "eot", int(documents)
