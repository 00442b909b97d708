"""A Haystack joiner (``pip install metafuse[haystack]``) with one named socket per list.

    pipeline.add_component("joiner", MetafuseJoiner(["bm25", "dense"], domain="rag"))
    pipeline.connect("bm25_retriever", "joiner.bm25")
    pipeline.connect("embedding_retriever", "joiner.dense")
"""

from dataclasses import replace
from typing import Any, Dict, List, Optional

from haystack import Document, component, default_from_dict, default_to_dict

from ._fusing import fused_items, id_for


@component
class MetafuseJoiner:
    """Fuses the documents of named lists: by the model of a server's ``domain``, by a ``model`` file, or by a ``method``
    (RRF). ``query`` is optional; with it, a server can learn from feedback. The documents' meta get ``fusion``: rank,
    score, id (as ``Client.feedback`` names the document) and, with a domain that learns, search_id."""

    def __init__(self, lists: List[str], domain: Optional[str] = None, model: Optional[str] = None,
                 method: Optional[str] = None, url: str = "http://127.0.0.1:8080", key: Optional[str] = None,
                 top_k: Optional[int] = None, timeout: float = 30.0):
        self.lists = list(lists)
        self.domain, self.model, self.method = domain, model, method
        self.url, self.key, self.top_k, self.timeout = url, key, top_k, timeout
        for name in self.lists:
            component.set_input_type(self, name, List[Document], [])

    @component.output_types(documents=List[Document])
    def run(self, query: str = "", top_k: Optional[int] = None, **found: List[Document]) -> Dict[str, List[Document]]:
        unknown = sorted(set(found) - set(self.lists))
        if unknown:
            raise ValueError(f"no list {unknown[0]}; the lists are {', '.join(self.lists)}")
        limit = top_k if top_k is not None else self.top_k
        fused = fused_items({name: found.get(name) or [] for name in self.lists},
                            lambda item: id_for(item.id, item.content or ""), query, domain=self.domain,
                            model=self.model, method=self.method, url=self.url, key=self.key, timeout=self.timeout,
                            limit=limit)
        return {"documents": [replace(document, score=fusion["score"], meta={**document.meta, "fusion": fusion})
                              for document, fusion in fused]}

    def to_dict(self) -> Dict[str, Any]:
        # not the key: a pipeline's file is no place for it
        return default_to_dict(self, lists=self.lists, domain=self.domain, model=self.model, method=self.method,
                               url=self.url, top_k=self.top_k, timeout=self.timeout)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "MetafuseJoiner":
        return default_from_dict(cls, data)
