"""Names of the array API and of NumPy that lowtide does not have yet, and what to type instead."""

from __future__ import annotations

from .errors import UnsupportedError

LINALG = (
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
)
NAMESPACE = {
    **{name: f"np.{name}" for name in ("sort", "argsort", "unique_all", "unique_inverse")},
    **{name: f"np.{name}" for name in ("median", "quantile", "percentile", "nanmedian", "cumsum", "cumprod")},
    "fft": "np.fft",
    "topk": "np.partition",
}
_INSTEAD = {"cumsum": "lt.cumulative_sum", "cumprod": "lt.cumulative_prod"}


class MissingError(UnsupportedError, AttributeError):
    """An UnsupportedError that is an AttributeError too, so that ``hasattr`` says no."""


def refusal(what: str, where: str, in_numpy: str) -> MissingError:
    """Says what to do where there is no such function."""
    name = what.rpartition(".")[2]
    if name in _INSTEAD:
        return MissingError(f"{what} is called {_INSTEAD[name]}, as in the array API")
    return MissingError(
        f"{what} is not in {where} yet. Where the elements fit in the budget: {in_numpy}(a.compute()); "
        "row by row: lt.map_blocks(function, a)"
    )
