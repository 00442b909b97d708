"""What the adapters for other frameworks share: one way to fuse named lists, wherever the model is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from . import Model, fuse
from ._errors import UsageError
from .client import Client


def fused_ids(lists: Mapping[str, list], query: str, *, domain: str | None = None, model: str | None = None,
              method: str | None = None, url: str = "http://127.0.0.1:8080", key: str | None = None,
              limit: int | None = None) -> list[tuple[str, float, dict[str, Any]]]:
    """The ids of named lists, fused, as ``(id, score, more)``.

    domain: of the server at ``url``, whose model fuses and which learns from feedback to ``more["search_id"]``; or
    model: a model file; or method: a method without training (``rrf``). An empty list counts as absent.
    """
    if sum(choice is not None for choice in (domain, model, method)) > 1:
        raise UsageError("give one of domain, model and method")
    brought = {name: items for name, items in lists.items() if items}
    if not brought:
        return []
    if domain is not None:
        answer = Client(url, key).fuse(brought, domain=domain, query=query, limit=limit)
        more = {"search_id": answer["search_id"]} if "search_id" in answer else {}
        return [(item["id"], item.get("relevance", item["relative_score"]), more) for item in answer["results"]]
    if model is not None:
        fused = Model.load(model).fuse(brought, limit=limit)
    else:
        fused = fuse(brought, method or "rrf", limit=limit)
    return [(item.id, item.score, {}) for item in fused]


def id_for(own: Any, text: str) -> str:
    """An id as the server takes it, of 1 to 1,024 bytes: an item's own, or a digest if it has none or a longer one."""
    name = "" if own is None else str(own)
    if name and len(name.encode()) <= 1024:
        return name
    return "sha256:" + hashlib.sha256((name or text).encode()).hexdigest()


def lists_of(found: Mapping[str, list], identity: Callable[[Any], str]) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The ids of each list, and the first item with each id."""
    items: dict[str, Any] = {}
    lists = {}
    for name, results in found.items():
        lists[name] = [identity(item) for item in results]
        for item in results:
            items.setdefault(identity(item), item)
    return lists, items
