"""LlamaIndex (``pip install metafuse[llama-index]``): a retriever that fuses the caller's retrievers, one that searches a
metafuse server, and a node postprocessor that orders nodes by the server's reranker.

    learned = MetafuseFusionRetriever({"bm25": bm25, "dense": dense}, domain="rag")
"""

from __future__ import annotations

import asyncio
from typing import Dict, List, Optional

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from ._fusing import fused_ids, lists_of
from .client import Client


class MetafuseRetriever(BaseRetriever):
    """Searches a domain of the server. A node's score is its relevance, or else its place from 1 down to 0."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: Optional[str] = None, domain: Optional[str] = None,
                 limit: int = 10, min_relevance: Optional[float] = None, **kwargs):
        super().__init__(**kwargs)
        self._client = Client(url, key)
        self._members = {"domain": domain, "limit": limit, "min_relevance": min_relevance}

    def _retrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        answer = self._client.search(query_bundle.query_str, **self._members)
        return [NodeWithScore(node=TextNode(id_=result["url"], text=result["snippet"] or result["title"],
                                            metadata={"source": result["url"], "title": result["title"]}),
                              score=result.get("relevance", result["relative_score"]))
                for result in answer["results"]]

    async def _aretrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class MetafuseFusionRetriever(BaseRetriever):
    """Asks several retrievers, by the names of their lists, and fuses their nodes: by the model of a server's ``domain``,
    by a ``model`` file, or by a ``method`` (RRF)."""

    def __init__(self, retrievers: Dict[str, BaseRetriever], domain: Optional[str] = None, model: Optional[str] = None,
                 method: Optional[str] = None, url: str = "http://127.0.0.1:8080", key: Optional[str] = None,
                 similarity_top_k: Optional[int] = None, **kwargs):
        super().__init__(**kwargs)
        self._retrievers = dict(retrievers)
        self._how = {"domain": domain, "model": model, "method": method, "url": url, "key": key,
                     "limit": similarity_top_k}

    def _fused(self, query: str, found: Dict[str, List[NodeWithScore]]) -> List[NodeWithScore]:
        lists, nodes = lists_of(found, lambda scored: scored.node.node_id)
        return [NodeWithScore(node=nodes[name].node, score=score)
                for name, score, _ in fused_ids(lists, query, **self._how)]

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
        results = Client(self.url, self.key).rerank(query_bundle.query_str, texts, model=self.domain, top_n=self.top_n)
        return [NodeWithScore(node=nodes[result["index"]].node, score=result["relevance_score"])
                for result in results if result["relevance_score"] >= self.min_relevance]
