"""The client for programs that run on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from .client import Client


class AsyncClient:
    """As :class:`metafuse.Client`, with methods to await. Each request runs in a thread of asyncio's own pool, with the
    client of the standard library; a cancelled request is given up, though its thread ends only with the next data or at
    the timeout."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout: float = 30.0):
        self._client = Client(url, key, timeout)

    async def search(self, query: str | None = None, *, slots: Mapping[str, str] | None = None,
                     **members) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.search, query, slots=slots, **members)

    async def fuse(self, lists, *, domain: str | None = None, method: str | None = None, **members) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.fuse, lists, domain=domain, method=method, **members)

    async def fuse_many(self, requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._client.fuse_many, list(requests))

    async def rerank(self, query: str, documents, **members) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._client.rerank, query, documents, **members)

    async def feedback(self, search_id: str, *, position: int | None = None, url: str | None = None,
                       id: str | None = None, grade: int | None = None) -> None:
        await asyncio.to_thread(self._client.feedback, search_id, position=position, url=url, id=id, grade=grade)

    async def add_documents(self, domain: str, documents: Iterable[Mapping[str, Any]]) -> int:
        return await asyncio.to_thread(self._client.add_documents, domain, documents)

    async def remove_documents(self, domain: str, urls: Iterable[str]) -> int:
        return await asyncio.to_thread(self._client.remove_documents, domain, urls)

    async def models(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.models)

    async def is_ready(self) -> bool:
        return await asyncio.to_thread(self._client.is_ready)

    async def stream(self, query: str | None = None, *, slots: Mapping[str, str] | None = None,
                     **members) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yields ``("partial", answer)`` as lists arrive, and finally ``("final", answer)``."""
        events = self._client.stream(query, slots=slots, **members)
        loop = asyncio.get_running_loop()
        step = None
        try:
            while True:
                step = loop.run_in_executor(None, next, events, None)
                await asyncio.wait([step])  # which may be cancelled, unlike the thread
                event = step.result()
                if event is None:
                    return
                yield event
        finally:
            if step is None or step.done():
                events.close()
            else:  # the thread still reads, and a generator that runs cannot be closed
                step.add_done_callback(lambda read: (read.exception(), events.close()))
