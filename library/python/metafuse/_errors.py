"""The exceptions of the package; their messages are those of the command line."""


class Error(Exception):
    """A failure; the message says what was wrong, where, and what to do.

    ``status`` is the exit status with which ``metafuse`` would have ended."""

    status = 70


class UsageError(Error, ValueError):
    """An argument or option is wrong."""

    status = 64


class DataError(Error, ValueError):
    """The data are malformed or inconsistent."""

    status = 65


class FileError(Error, OSError):
    """A file does not exist, or cannot be read or written."""

    status = 66


class Stopped(Error):
    """The progress function returned False."""

    status = 1


class ServerError(Error):
    """A server refused a request or cannot be reached.

    ``http_status`` is the status of its answer, 0 if it did not answer. ``retry_after`` is how many seconds the server
    asks to wait, or None."""

    status = 69

    def __init__(self, text, http_status=0, retry_after=None):
        super().__init__(text)
        self.http_status = http_status
        self.retry_after = retry_after


_CLASSES = {kind.status: kind for kind in (UsageError, DataError, FileError, Stopped)}


def error_of(status, text):
    error = _CLASSES.get(status, Error)(text)
    error.status = status
    return error
