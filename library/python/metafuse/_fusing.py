"""What the adapters for other frameworks share: one way to fuse named lists, wherever the model is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from . import Model, fuse
from ._errors import UsageError
from .client import Client

# limits of POST /v1/fuse
MOST_RESULTS = 1000
MOST_QUERY_BYTES = 4096
MOST_ID_BYTES = 1024


def fused_items(found: Mapping[str, list], identity: Callable[[Any], str], query: str, *, domain: str | None = None,
                model: str | None = None, method: str | None = None, url: str = "http://127.0.0.1:8080",
                key: str | None = None, timeout: float = 30.0,
                limit: int | None = None) -> list[tuple[Any, dict[str, Any]]]:
    """The items of named lists, fused, each with what an adapter puts into its metadata as ``fusion``: rank, score, the
    id that it was fused by and, if a server learns from feedback, the search_id.

    domain: of the server at ``url``; or model: a model file; or method: a method without training (``rrf``). An empty
    list counts as absent.
    """
    if sum(choice is not None for choice in (domain, model, method)) > 1:
        raise UsageError("give one of domain, model and method")
    items: dict[str, Any] = {}
    lists: dict[str, list[str]] = {}
    for name, results in found.items():
        ids = [identity(item) for item in results]
        if ids:
            lists[name] = ids
        for own, item in zip(ids, results):
            items.setdefault(own, item)
    if not lists:
        return []
    if domain is not None:
        fused, search_id = _fused_by_server(Client(url, key, timeout), lists, domain, query, limit)
    else:
        fused, search_id = _fused_here(lists, model, method, limit), None
    more = {} if search_id is None else {"search_id": search_id}
    return [(items[own], {"rank": rank, "id": own, "score": score, **more})
            for rank, (own, score) in enumerate(fused, 1)]


def _fused_by_server(client: Client, lists: Mapping[str, list[str]], domain: str, query: str,
                     limit: int | None) -> tuple[list[tuple[str, float]], str | None]:
    sent = {name: ids[:MOST_RESULTS] for name, ids in lists.items()}
    text = query.encode(errors="replace")[:MOST_QUERY_BYTES].decode(errors="ignore")  # in whole characters
    answer = client.fuse(sent, domain=domain, query=text or None, limit=limit)
    fused = [(item["id"], item.get("relevance", item["relative_score"])) for item in answer["results"]]
    return fused, answer.get("search_id")


def _fused_here(lists: Mapping[str, list[str]], model: str | None, method: str | None,
                limit: int | None) -> list[tuple[str, float]]:
    if model is not None:
        fused = Model.load(model).fuse(lists, limit=limit)
    else:
        fused = fuse(lists, method or "rrf", limit=limit)
    return [(item.id, item.score) for item in fused]


def id_for(own: Any, text: str) -> str:
    """An id as the server takes it, of 1 to 1,024 bytes: an item's own, or a digest if it has none or a longer one."""
    name = "" if own is None else str(own)
    if name and len(name.encode()) <= MOST_ID_BYTES:
        return name
    return "sha256:" + hashlib.sha256((name or text).encode()).hexdigest()
