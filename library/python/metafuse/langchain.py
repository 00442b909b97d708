"""LangChain retrievers (``pip install metafuse[langchain]``): one that searches a metafuse server, and one that fuses
the caller's retrievers.

    learned = MetafuseEnsembleRetriever(retrievers={"bm25": bm25, "dense": dense}, domain="rag")
"""

from __future__ import annotations

import asyncio
from typing import Dict, List, Optional

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from ._fusing import fused_items, id_for
from .client import Client


class MetafuseRetriever(BaseRetriever):
    """Searches a domain of the server. The metadata have source, title, rank, score, relative_score and engines."""

    url: str = "http://127.0.0.1:8080"
    key: Optional[str] = None
    domain: Optional[str] = None
    limit: int = 10
    timeout: float = 30.0  #: in seconds, for each wait for data
    min_relevance: Optional[float] = None  #: 0 to 1; the domain's model must have been trained with --calibrate

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> List[Document]:
        answer = Client(self.url, self.key, self.timeout).search(query, domain=self.domain, limit=self.limit,
                                                                 min_relevance=self.min_relevance)
        names = ("title", "rank", "score", "relative_score", "relevance", "engines")
        more = {"search_id": answer["search_id"]} if "search_id" in answer else {}
        return [Document(page_content=result["snippet"] or result["title"], id=result["url"],
                         metadata={"source": result["url"], **{name: result[name] for name in names if name in result},
                                   **more})
                for result in answer["results"]]

    async def _aget_relevant_documents(self, query: str, *,
                                       run_manager: AsyncCallbackManagerForRetrieverRun) -> List[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync())


class MetafuseEnsembleRetriever(BaseRetriever):
    """Asks several retrievers and fuses their documents: by the model of a server's ``domain``, by a ``model`` file, or by
    a ``method`` (RRF). The keys of ``retrievers`` are the names of the lists. Documents are the same if their id is or, with
    ``id_key``, that member of their metadata instead; those that lack it are the same if their text is. The metadata get
    ``fusion``: rank, score, id (as ``Client.feedback`` names the document) and, with a domain that learns, search_id."""

    retrievers: Dict[str, BaseRetriever]
    domain: Optional[str] = None
    model: Optional[str] = None
    method: Optional[str] = None
    url: str = "http://127.0.0.1:8080"
    key: Optional[str] = None
    timeout: float = 30.0
    id_key: Optional[str] = None
    limit: Optional[int] = None

    def _identity(self, document: Document) -> str:
        own = document.metadata.get(self.id_key) if self.id_key else getattr(document, "id", None)
        return id_for(own, document.page_content)

    def _fused(self, query: str, found: Dict[str, List[Document]]) -> List[Document]:
        fused = fused_items(found, self._identity, query, domain=self.domain, model=self.model, method=self.method,
                            url=self.url, key=self.key, timeout=self.timeout, limit=self.limit)
        return [Document(page_content=document.page_content, id=getattr(document, "id", None),
                         metadata={**document.metadata, "fusion": fusion})
                for document, fusion in fused]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> List[Document]:
        found = {name: retriever.invoke(query, config={"callbacks": run_manager.get_child(name)})
                 for name, retriever in self.retrievers.items()}
        return self._fused(query, found)

    async def _aget_relevant_documents(self, query: str, *,
                                       run_manager: AsyncCallbackManagerForRetrieverRun) -> List[Document]:
        found = await asyncio.gather(*(retriever.ainvoke(query, config={"callbacks": run_manager.get_child(name)})
                                       for name, retriever in self.retrievers.items()))
        return await asyncio.to_thread(self._fused, query, dict(zip(self.retrievers, found)))
