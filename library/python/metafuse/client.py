"""A client for a metafuse server that needs only the standard library.

The server answers with JSON, which the methods return as dicts; docs/api.md describes them.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ._errors import ServerError, UsageError

MOST_BYTES = 64 << 20


class Client:
    """Sends requests to one server. Many threads may use it at once.

    url: the server's, such as ``http://127.0.0.1:8080``; key: if the server requires one; timeout: in seconds, for
    each wait for data.
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout: float = 30.0):
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ServerError(f"{url}: give an address that begins with http:// or https://")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._key = _checked_key(key)
        # No proxy, also of the environment, and no redirect to another host: only this server may see the key.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _SameServer(self.url), _Http, _Https)

    def search(self, query: str | None = None, *, slots: Mapping[str, str] | None = None, **members) -> dict[str, Any]:
        """Searches; ``members`` are those of ``POST /v1/search``: domain, limit, page, explain, ..."""
        return self._post("/v1/search", {"query": query, "slots": slots, **members})

    def stream(self, query: str | None = None, *, slots: Mapping[str, str] | None = None,
               **members) -> Iterator[tuple[str, dict[str, Any]]]:
        """Searches; yields ``("partial", answer)`` as lists arrive, and finally ``("final", answer)``. A stream that ends
        otherwise raises :class:`ServerError`. ``members`` are the parameters of ``GET /v1/search/stream``; page,
        safe_search and deadline_ms may have their names of :meth:`search`."""
        return self._events_of("/v1/search/stream?" + _stream_parameters({"query": query, **members}, slots))

    def _events_of(self, target: str) -> Iterator[tuple[str, dict[str, Any]]]:
        with self._open(self._request(target)) as answer:
            for kind, data in _events(_lines(self.url, answer)):
                if kind == "error":
                    raise ServerError(str(data.get("detail", data)), 503)
                yield kind, data
                if kind == "final":
                    return
        raise ServerError(f"{self.url}: the stream ended before its last answer")

    def fuse(self, lists, *, domain: str | None = None, method: str | None = None, **members) -> dict[str, Any]:
        """Fuses lists as ``POST /v1/fuse`` does. ``lists`` is ``{name: [id or {"id", "score", "title", ...}, ...]}``,
        or a list in the form of that request."""
        return self._post("/v1/fuse", _fuse_request(lists, {"domain": domain, "method": method, **members}))

    def fuse_many(self, requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Fuses several requests at once; each is a dict of the arguments of :meth:`fuse`. The answer to a refused
        one has ``status`` and ``detail``."""
        made = [_fuse_request(request["lists"], {k: v for k, v in request.items() if k != "lists"})
                for request in requests]
        return self._post("/v1/fuse", {"requests": made})["answers"]

    def rerank(self, query: str, documents: Iterable, **members) -> list[dict[str, Any]]:
        """Orders documents, texts or ``{"text": ...}``, as ``POST /v1/rerank`` does; ``members`` are model, top_n,
        return_documents. Returns ``{"index", "relevance_score"}`` of each, best first."""
        return self._post("/v1/rerank", {"query": query, "documents": list(documents), **members})["results"]

    def feedback(self, search_id: str, *, position: int | None = None, url: str | None = None, id: str | None = None,
                 grade: int | None = None) -> None:
        """Reports a click on a result of a search or, if a grade is given, a judgment of it. The result is named by its
        position, by its url, or by the id that it has in the answer to :meth:`fuse`."""
        self._post("/v1/feedback", {"search_id": search_id, "position": position, "url": url, "id": id,
                                    "kind": "click" if grade is None else "judgment", "grade": grade})

    def add_documents(self, domain: str, documents: Iterable[Mapping[str, Any]]) -> int:
        """Adds documents ({"url", "title", "text", ...}) to a domain's embedded index, or replaces those of the same
        address; returns how many. They are then on the server's disk, and searches find them within seconds. Many
        documents are sent in parts; if one part is refused, those before it stay."""
        stored = 0
        for lines in _parts(documents):
            request = self._request(_documents_path(domain), lines, "application/x-ndjson")
            stored += self._answer(request)["stored"]
        return stored

    def remove_documents(self, domain: str, urls: Iterable[str]) -> int:
        """Removes documents from a domain's embedded index by their addresses."""
        request = self._request(_documents_path(domain), json.dumps({"urls": list(urls)}).encode())
        request.method = "DELETE"
        return self._answer(request)["removed"]

    def models(self) -> dict[str, Any]:
        """The models of the server's domains."""
        return self._get("/v1/models")

    def is_ready(self) -> bool:
        """Whether the server answers searches."""
        try:
            with self._open(self._request("/readyz")):
                return True
        except ServerError:
            return False

    def _get(self, path: str):
        return self._answer(self._request(path))

    def _post(self, path: str, body: Mapping[str, Any]):
        text = json.dumps({name: value for name, value in body.items() if value is not None})
        return self._answer(self._request(path, text.encode()))

    def _request(self, path: str, body: bytes | None = None,
                 media_type: str = "application/json") -> urllib.request.Request:
        request = urllib.request.Request(self.url + path, data=body)
        if body is not None:
            request.add_header("Content-Type", media_type)
        if self._key is not None:
            request.add_header("Authorization", f"Bearer {self._key}")
        return request

    def _open(self, request):
        try:
            with _failures_of(self.url):
                return self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as refused:
            with refused:
                raise ServerError(_problem_of(refused), refused.code, _seconds_of(refused)) from None

    def _answer(self, request):
        with self._open(request) as answer, _failures_of(self.url):
            text = answer.read(MOST_BYTES + 1)
            if len(text) <= MOST_BYTES and answer.length:  # read() takes an early end for the end
                raise http.client.IncompleteRead(text, answer.length)
        if len(text) > MOST_BYTES:
            raise ServerError(f"{self.url}: the answer is larger than {MOST_BYTES >> 20} MiB")
        return _parsed(text) if text.strip() else {}


@contextmanager
def _failures_of(url: str):
    """Raises what goes wrong between this program and the server as a ServerError."""
    try:
        yield
    except urllib.error.HTTPError:
        raise  # an answer
    except (OSError, http.client.HTTPException) as failure:
        reason = getattr(failure, "reason", None) or str(failure) or type(failure).__name__
        raise ServerError(f"{url}: {reason}; is the server running there?") from None


class _Hearing:
    """A connection whose server may answer before it has read the whole request, as it does when that is too large. What
    cannot be sent any more is left; the answer is read, or else reading fails too."""

    def send(self, data):
        if self.sock is None:
            self.connect()
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass


class _HearingHttp(_Hearing, http.client.HTTPConnection):
    pass


class _HearingHttps(_Hearing, http.client.HTTPSConnection):
    pass


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request):
        return self.do_open(_HearingHttp, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request):
        return self.do_open(_HearingHttps, request)


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to other servers."""

    def __init__(self, url):
        self._server = urllib.parse.urlsplit(url)[:2]

    def redirect_request(self, request, answer, code, message, headers, target):
        if urllib.parse.urlsplit(target)[:2] != self._server:
            raise ServerError(f"the server redirects to {target}; give that address to Client", code)
        return super().redirect_request(request, answer, code, message, headers, target)


def _checked_key(key: str | None) -> str | None:
    """The key without blanks around it, such as a file's line end. What is wrong is said without showing it."""
    checked = (key or "").strip()
    if not checked.isprintable() or not checked.isascii():
        raise UsageError("the key has characters other than printable ASCII; give the key alone")
    return checked or None


def _seconds_of(refused) -> float | None:
    try:
        return float(refused.headers["Retry-After"])
    except (TypeError, ValueError):  # none, or a date, which metafuse does not send
        return None


def _problem_of(refused) -> str:
    try:
        problem = json.loads(refused.read(1 << 20))
        return str(problem.get("detail") or problem.get("title") or refused.reason)
    except (ValueError, AttributeError, OSError, http.client.HTTPException):
        return f"{refused.code} {refused.reason}"


def _parsed(text: str | bytes):
    try:
        return json.loads(text)
    except ValueError:
        raise ServerError("the answer is not JSON; is this a metafuse server?") from None


#: Members of a search that the stream's parameters call otherwise, and all others that it has.
_STREAM_NAMES = {"query": "q", "page": "pageno", "safe_search": "safesearch"}
_STREAM_PARAMETERS = frozenset({"q", "domain", "pageno", "limit", "explain", "verbatim", "all_lists", "lists",
                                "min_relevance", "fusion", "language", "time_range", "safesearch", "engines", "categories",
                                "timeout_limit"})


def _stream_parameters(members: Mapping[str, Any], slots: Mapping[str, str] | None) -> str:
    wanted = {f"slot.{name}": value for name, value in (slots or {}).items()}
    for name, value in members.items():
        if value is None:
            continue
        if name == "deadline_ms":
            name, value = "timeout_limit", value / 1000
        name = _STREAM_NAMES.get(name, name)
        if name not in _STREAM_PARAMETERS:
            raise UsageError(f"a stream has no parameter {name}; it has {', '.join(sorted(_STREAM_PARAMETERS))}")
        if isinstance(value, bool):
            value = int(value)
        elif isinstance(value, (list, tuple, set)):
            value = ",".join(map(str, value))
        wanted[name] = value
    return urllib.parse.urlencode(wanted)


def _documents_path(domain: str) -> str:
    return "/v1/documents/" + urllib.parse.quote(domain, safe="")


def _parts(documents: Iterable[Mapping[str, Any]], most: int = 500_000) -> Iterator[bytes]:
    """JSON lines in parts that a server takes with its default limit of a request's size."""
    part: list[bytes] = []
    size = 0
    for document in documents:
        line = json.dumps(document).encode() + b"\n"
        if part and size + len(line) > most:
            yield b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield b"".join(part)


def _fuse_request(lists, members: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(lists, Mapping):
        lists = [{"name": name, "results": list(results)} for name, results in lists.items()]
    return {"lists": lists, **{name: value for name, value in members.items() if value is not None}}


def _lines(url: str, answer) -> Iterator[bytes]:
    while True:
        with _failures_of(url):
            line = answer.readline()
        if not line:
            return
        yield line


def _events(lines: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the events of an event stream: lines `event:` and `data:`, ended by an empty line."""
    kind, data, size = "message", [], 0
    for line in lines:
        size += len(line)
        if size > MOST_BYTES:
            raise ServerError(f"the stream is larger than {MOST_BYTES >> 20} MiB")
        text = line.decode(errors="replace").rstrip("\r\n")
        if not text:
            if data:
                yield kind, _parsed("\n".join(data))
            kind, data = "message", []
        elif text.startswith("event:"):
            kind = text[6:].strip()
        elif text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
