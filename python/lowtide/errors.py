"""Every error that lowtide raises: one small hierarchy, each class also the builtin that callers already catch."""

from __future__ import annotations

import errno as _errno
import sys


class Error(Exception):
    """The base of all errors that lowtide raises about memory, files and formats.

    >>> try:
    ...     lt.open("absent.npy")
    ... except lt.Error as error:
    ...     print(type(error).__mro__[1].__name__)
    IoError
    """


class BudgetError(Error, MemoryError):
    """The budget cannot pay for an operation. Raised before any IO and before any output file exists.

    >>> with lt.budget("1KiB"):
    ...     try:
    ...         a.compute()
    ...     except lt.BudgetError as error:
    ...         print(error.needed > error.limit, isinstance(error, MemoryError))
    True True
    """

    def __init__(self, message: str, needed: int = 0, limit: int = 0) -> None:
        super().__init__(message + _kept_by_notebook())
        self.needed = needed
        self.limit = limit


class FormatError(Error, ValueError):
    """A file's content is not what its format promises.

    >>> try:
    ...     lt.open(raw_path)
    ... except lt.FormatError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class IoError(Error, OSError):
    """The system refused or failed an operation on a file: ``errno``, ``filename`` and ``offset`` say where.

    >>> try:
    ...     lt.open("absent.npy")
    ... except lt.IoError as error:
    ...     print(isinstance(error, FileNotFoundError), error.filename)
    True absent.npy
    """

    def __init__(self, message: str, code: int = 0, path: str | None = None, offset: int = 0) -> None:
        super().__init__(code, message, path)
        self.offset = offset

    def __str__(self) -> str:
        return str(self.strerror)


class NotFoundIoError(IoError, FileNotFoundError):
    """An :class:`IoError` that is a ``FileNotFoundError`` too."""


class ExistsIoError(IoError, FileExistsError):
    """An :class:`IoError` that is a ``FileExistsError`` too."""


class PermissionIoError(IoError, PermissionError):
    """An :class:`IoError` that is a ``PermissionError`` too."""


class IsDirectoryIoError(IoError, IsADirectoryError):
    """An :class:`IoError` that is an ``IsADirectoryError`` too."""


class DataChangedError(Error):
    """A file changed under an open array: what was read before and what would be read now do not belong together.

    >>> np.save(path, np.zeros((3, 4)))  # while `a` is open
    >>> try:
    ...     a.compute()
    ... except lt.DataChangedError as error:
    ...     print("changed")
    changed
    """


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, and not supported: the message says what is, or what to do instead.

    >>> try:
    ...     lt.open(raw_path, dtype="U10")
    ... except lt.UnsupportedError as error:
    ...     print(isinstance(error, NotImplementedError))
    True
    """


class CancelledError(Error):
    """The work was stopped by whoever asked for it.

    >>> issubclass(lt.CancelledError, (OSError, ValueError))  # no handler of those takes it for a failure
    False
    """


def _kept_by_notebook() -> str:
    """What to type where IPython's history of outputs keeps results alive that nobody else wants."""
    if (ipython := sys.modules.get("IPython")) is None or (shell := ipython.get_ipython()) is None:
        return ""
    shown = [f"Out[{n}]" for n, value in shell.user_ns.get("Out", {}).items() if hasattr(value, "nbytes")]
    return f"\n{', '.join(shown[:3])} of this notebook may keep results: %reset -f out drops them." if shown else ""


_IO_ERRORS: dict[int, type[IoError]] = {
    _errno.ENOENT: NotFoundIoError,
    _errno.EEXIST: ExistsIoError,
    _errno.EACCES: PermissionIoError,
    _errno.EPERM: PermissionIoError,
    _errno.EISDIR: IsDirectoryIoError,
}


def io_error(message: str, code: int, path: str, offset: int) -> IoError:
    """Make the IoError that is also the builtin for its errno."""
    return _IO_ERRORS.get(code, IoError)(message, code, path, offset)
