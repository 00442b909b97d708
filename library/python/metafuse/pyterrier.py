"""PyTerrier (``pip install metafuse[pyterrier]``): a learned fusion of several pipelines, as an estimator.

    fused = MetafuseFusion({"bm25": bm25, "dense": dense})
    fused.fit(train_topics, train_qrels, valid_topics, valid_qrels)
    pt.Experiment([bm25, fused], test_topics, test_qrels, ["map"])
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pandas
import pyterrier

from . import Model, fuse, train


class MetafuseFusion(pyterrier.Estimator):
    """Fuses the results of pipelines, by the names of their lists. ``fit`` trains a model from judged topics; before
    that ``method`` fuses, which needs no training. ``model`` is a model file to begin with."""

    def __init__(self, pipelines: Mapping[str, Any], learner: str = "auto", method: str = "rrf",
                 model: Optional[str] = None, **options):
        super().__init__()
        self.pipelines = dict(pipelines)
        self.learner, self.method, self.options = learner, method, options
        self.model = None if model is None else Model.load(model)

    def _runs(self, topics: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
        return {name: pipeline.transform(topics)[["qid", "docno", "score"]] for name, pipeline in self.pipelines.items()}

    def fit(self, topics_or_res_tr, qrels_tr, topics_or_res_va=None, qrels_va=None):
        """Trains a model on the training topics. Validation topics are accepted, as of every estimator, and not used:
        `auto` chooses by cross-validation."""
        self.model = train(self._runs(_topics(topics_or_res_tr)), qrels_tr, self.learner, **self.options)
        return self

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        topics = _topics(inp)
        runs = self._runs(topics)
        if all(len(run) == 0 for run in runs.values()):
            fused = pandas.DataFrame({"qid": [], "docno": [], "score": []})
        elif self.model is not None:
            fused = self.model.fuse(runs, missing="unranked")
        else:
            fused = fuse(runs, self.method)
        fused = fused.sort_values(["qid", "score"], ascending=[True, False], kind="stable").reset_index(drop=True)
        fused["rank"] = fused.groupby("qid").cumcount()
        return fused.merge(topics, on="qid", how="left")[["qid", "query", "docno", "score", "rank"]]


def _topics(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The queries of topics or of results, each once."""
    return frame[["qid", "query"]].drop_duplicates("qid")
