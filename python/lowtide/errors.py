"""Every error that lowtide raises: one small hierarchy, each class also the builtin that callers already catch."""

from __future__ import annotations

import errno as _errno


class Error(Exception):
    """The base of all errors that lowtide raises about memory, files and formats."""


class BudgetError(Error, MemoryError):
    """The budget cannot pay for an operation. Raised before any IO and before any output file exists."""

    def __init__(self, message: str, needed: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit


class FormatError(Error, ValueError):
    """A file's content is not what its format promises."""


class IoError(Error, OSError):
    """The system refused or failed an operation on a file: ``errno``, ``filename`` and ``offset`` say where."""

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
    """A file changed under an open array: what was read before and what would be read now do not belong together."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, and not supported: the message says what is, or what to do instead."""


class CancelledError(Error):
    """The work was stopped by whoever asked for it."""


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
