"""LlamaIndex (``pip install metafuse[llama-index]``): a retriever that fuses the caller's retrievers, one that searches a
metafuse server, and a node postprocessor that orders nodes by the server's reranker.

    learned = MetafuseFusionRetriever({"bm25": bm25, "dense": dense}, domain="rag")
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Optional

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from ._fusing import fused_items, id_for
from .client import Client


def _unread(*names: str) -> Dict[str, List[str]]:
    """What feedback needs is for programs: neither models nor embeddings read it."""
    return {"excluded_embed_metadata_keys": list(names), "excluded_llm_metadata_keys": list(names)}


class MetafuseRetriever(BaseRetriever):
    """Searches a domain of the server. A node's score is its relevance, or else its place from 1 down to 0. The metadata
    have source, title, rank and, if the server stores searches, search_id for ``Client.feedback``."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: Optional[str] = None, domain: Optional[str] = None,
                 limit: int = 10, min_relevance: Optional[float] = None, timeout: float = 30.0, **kwargs):
        super().__init__(**kwargs)
        self._client = Client(url, key, timeout)
        self._members = {"domain": domain, "limit": limit, "min_relevance": min_relevance}

    def _retrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        answer = self._client.search(query_bundle.query_str, **self._members)
        more = {"search_id": answer["search_id"]} if "search_id" in answer else {}
        return [NodeWithScore(node=TextNode(id_=result["url"], text=result["snippet"] or result["title"],
                                            metadata={"source": result["url"], "title": result["title"],
                                                      "rank": result["rank"], **more},
                                            **_unread("rank", "search_id")),
                              score=result.get("relevance", result["relative_score"]))
                for result in answer["results"]]

    async def _aretrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _with_fusion(node: BaseNode, fusion: Dict[str, Any]) -> BaseNode:
    unread = {name: [*getattr(node, name), *added] for name, added in _unread("fusion").items()}
    return node.model_copy(update={"metadata": {**node.metadata, "fusion": fusion}, **unread})


class MetafuseFusionRetriever(BaseRetriever):
    """Asks several retrievers, by the names of their lists, and fuses copies of their nodes: by the model of a server's
    ``domain``, by a ``model`` file, or by a ``method`` (RRF). The metadata get ``fusion``: rank, score, id (as
    ``Client.feedback`` names the node) and, with a domain that learns, search_id."""

    def __init__(self, retrievers: Dict[str, BaseRetriever], domain: Optional[str] = None, model: Optional[str] = None,
                 method: Optional[str] = None, url: str = "http://127.0.0.1:8080", key: Optional[str] = None,
                 similarity_top_k: Optional[int] = None, timeout: float = 30.0, **kwargs):
        super().__init__(**kwargs)
        self._retrievers = dict(retrievers)
        self._how = {"domain": domain, "model": model, "method": method, "url": url, "key": key,
                     "limit": similarity_top_k, "timeout": timeout}

    def _fused(self, query: str, found: Dict[str, List[NodeWithScore]]) -> List[NodeWithScore]:
        def identity(scored: NodeWithScore) -> str:
            return id_for(scored.node.node_id, scored.node.get_content(metadata_mode=MetadataMode.NONE))

        return [NodeWithScore(node=_with_fusion(scored.node, fusion), score=fusion["score"])
                for scored, fusion in fused_items(found, identity, query, **self._how)]

    def _retrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        found = {name: retriever.retrieve(query_bundle) for name, retriever in self._retrievers.items()}
        return self._fused(query_bundle.query_str, found)

    async def _aretrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        found = await asyncio.gather(*(retriever.aretrieve(query_bundle) for retriever in self._retrievers.values()))
        return await asyncio.to_thread(self._fused, query_bundle.query_str, dict(zip(self._retrievers, found)))


class MetafuseRerank(BaseNodePostprocessor):
    """Orders nodes by the server's ``POST /v1/rerank``; ``domain`` names the domain whose model and rerankers order."""

    url: str = "http://127.0.0.1:8080"
    key: Optional[str] = None
    domain: Optional[str] = None
    top_n: Optional[int] = None
    min_relevance: float = 0.0
    timeout: float = 30.0

    @classmethod
    def class_name(cls) -> str:
        return "MetafuseRerank"

    def _postprocess_nodes(self, nodes: List[NodeWithScore],
                           query_bundle: Optional[QueryBundle] = None) -> List[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("MetafuseRerank needs the query")
        if not nodes:
            return []
        texts = [scored.node.get_content(metadata_mode=MetadataMode.EMBED) for scored in nodes]
        client = Client(self.url, self.key, self.timeout)
        results = client.rerank(query_bundle.query_str, texts, model=self.domain, top_n=self.top_n)
        return [NodeWithScore(node=nodes[result["index"]].node, score=result["relevance_score"])
                for result in results if result["relevance_score"] >= self.min_relevance]
