"""Learned fusion of ranked lists, evaluation compatible with trec_eval, and a client for a metafuse server.

>>> import metafuse
>>> metafuse.fuse([["d1", "d7", "d3"], ["d3", "d1"]])[0]
Fused(id='d1', score=0.03252247488101534)

Runs and judgments have the forms in common use. Runs are ``{query: {document: score}}``, DataFrames with ``qid``,
``docno`` and ``score`` or ``rank``, or TREC files; judgments are ``{query: {document: grade}}``, DataFrames with
``qid``, ``docno`` and ``label``, or qrels files. All exceptions are subclasses of :class:`Error`. The interpreter's
lock is released while the library works, so Python threads run in parallel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from . import _metafuse
from ._data import Fused, Lists, Run, handles_of, is_run, options_of, qrels_of, runs_of, weights_of
from ._errors import DataError, Error, FileError, ServerError, Stopped, UsageError
from .aio import AsyncClient
from .client import Client

__version__ = _metafuse.version()
__all__ = ["AsyncClient", "Client", "DataError", "Error", "Evaluation", "FileError", "Fused", "Model", "Run", "ServerError",
           "Stopped", "UsageError", "compare", "compare_methods", "cross_validate", "evaluate", "fuse", "learners",
           "measures", "methods", "train"]

Progress = Callable[[int, int], Any]
DEFAULT_MEASURES = "map,recip_rank,P_10,ndcg_cut_10"


def _are_runs(lists) -> bool:
    if not isinstance(lists, (Mapping, list, tuple)):
        return False
    items = list(lists.values()) if isinstance(lists, Mapping) else lists
    # an empty mapping is a run or a list, whichever the others are
    return any(map(is_run, items)) and all(is_run(item) or isinstance(item, Mapping) and not item for item in items)


def fuse(lists, method: str = "rrf", *, k: float | None = None, normalise: str | None = None, weights=None,
         limit: int | None = None, depth: int | None = None, train=None, threads: int | None = None,
         relevance_level: int | None = None):
    """Merges lists into one by a method that needs no model; :func:`methods` lists the methods.

    lists: the lists of one query, as ``{name: list}`` or a sequence of lists, best first. A list contains ids (of any
        hashable type) or pairs ``(id, score)``; ``{id: score}`` and ``(ids, scores)`` (two lists or arrays) are lists
        too. Or runs of many queries, as ``{name: run}`` or a sequence (see :class:`Run`).
    weights: one per list, or ``{name: weight}``, for methods that take weights.
    train: judgments for methods that learn, read with ``relevance_level``. These two, ``depth`` and ``threads`` apply
        only to runs.

    Returns a list of :class:`Fused` for the lists of one query; for runs, a run in the form of the first one.

    >>> fuse({"words": ["d1", "d7"], "vectors": [("d7", 0.9), ("d2", 0.4)]}, limit=2)
    [Fused(id='d7', score=0.03252247488101534), Fused(id='d1', score=0.01639344262295082)]
    >>> fuse([{3: 12.5, 8: 10.0}, {8: 0.9, 5: 0.2}], "combsum", normalise="max")[0]
    Fused(id=8, score=1.8)
    >>> fuse({"a": {"q1": {"d1": 2.0, "d2": 1.0}}, "b": {"q1": {"d1": 0.3}}})
    {'q1': {'d1': 0.03278688524590164, 'd2': 0.016129032258064516}}
    """
    options = {"k": k, "normalise": normalise, "limit": limit}
    if _are_runs(lists):
        runs = runs_of(lists)
        options |= {"weights": weights_of(weights, [run.name for run in runs]), "depth": depth, "threads": threads,
                    "relevance_level": relevance_level}
        judged = None if train is None else qrels_of(train)
        return Run._fused(_metafuse.fuse_runs(handles_of(runs), method, judged, options_of(options)), runs[0])
    for name, value in (("depth", depth), ("train", train), ("threads", threads),
                        ("relevance_level", relevance_level)):
        if value is not None:
            raise UsageError(f"{name} applies to runs only; leave it out")
    brought = Lists(lists)
    options["weights"] = weights_of(weights, [row[0] for row in brought.rows])
    return brought.fused(_metafuse.fuse_lists(brought.rows, method, options_of(options)))


class Model:
    """A trained model, which fuses better than a formula once some queries are judged. It is immutable, and many
    threads may use it at once.

    >>> runs = {"words": {"q1": ["a", "b"], "q2": ["c", "d"]}, "vectors": {"q1": ["b", "a"], "q2": ["d", "c"]}}
    >>> model = Model.train(runs, {"q1": {"b": 1}, "q2": {"d": 1}}, "rankboost", rounds=10)
    >>> [item.id for item in model.fuse({"words": ["x", "y"], "vectors": ["y", "x"]})]
    ['y', 'x']
    """

    def __init__(self, handle):
        self._handle = handle

    @classmethod
    def load(cls, path) -> Model:
        """Reads a model file written by ``metafuse train`` or :meth:`save`."""
        return cls(_metafuse.Model.load(os.fspath(path)))

    @classmethod
    def parse(cls, text: str) -> Model:
        """Parses the text of a model file."""
        return cls(_metafuse.Model.parse(text))

    @classmethod
    def train(cls, runs, qrels, learner: str = "auto", *, validate=None, progress: Progress | None = None,
              **options) -> Model:
        """See :func:`metafuse.train`."""
        return train(runs, qrels, learner, validate=validate, progress=progress, **options)

    def save(self, path) -> None:
        """Writes a model file, which the server and the command line can read too."""
        self._handle.save(os.fspath(path))

    @property
    def text(self) -> str:
        """The text that :meth:`save` writes; equal models have equal text."""
        return self._handle.text()

    @property
    def learner(self) -> str:
        return self._handle.learner()

    @property
    def lists(self) -> list[str]:
        """The names of the lists that the model fuses."""
        return self._handle.lists()

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained: options, counts and losses."""
        return json.loads(self.text)["training"]

    def describe(self) -> str:
        """A readable description of the model."""
        return self._handle.show()

    def fuse(self, lists, *, limit: int | None = None, missing: str | None = None, threads: int | None = None):
        """Merges lists as :func:`metafuse.fuse` does, but by the model.

        Lists must have the names that the model was trained on. When fusing the lists of one query, a missing list
        leaves its documents unranked; for runs, that must be allowed with ``missing="unranked"``.
        """
        if _are_runs(lists):
            runs = runs_of(lists)
            options = options_of({"limit": limit, "missing": missing, "threads": threads})
            return Run._fused(self._handle.fuse_runs(handles_of(runs), options), runs[0])
        brought = self._named(lists)
        return brought.fused(self._handle.fuse_lists(brought.rows, options_of({"limit": limit})))

    def explain(self, lists, document) -> dict[str, Any]:
        """Explains a document's score: ``{"document", "score", "features": [{"feature", "rank",
        "weight"}]}``; the weights add up to the score. ``features`` is empty if the model is not a sum over features.

        >>> runs = {"words": {"q1": ["a", "b"], "q2": ["c", "d"]}, "vectors": {"q1": ["b", "a"], "q2": ["d", "c"]}}
        >>> model = train(runs, {"q1": {"b": 1}, "q2": {"d": 1}}, "rankboost", rounds=10)
        >>> why = model.explain({"words": ["x", "y"], "vectors": ["y", "x"]}, "y")
        >>> [(share["feature"], share["rank"]) for share in why["features"]]
        [('words', 2), ('vectors', 1)]
        """
        brought = self._named(lists)
        return json.loads(self._handle.explain(brought.rows, str(document))) | {"document": document}

    @staticmethod
    def _named(lists) -> Lists:
        if not isinstance(lists, Mapping):
            raise UsageError("a model needs the names of its lists; give {name: list}")
        return Lists(lists)

    def __repr__(self) -> str:
        return f"<metafuse.Model {self.learner} of {', '.join(self.lists)}>"


def train(runs, qrels, learner: str = "auto", *, validate=None, progress: Progress | None = None,
          **options) -> Model:
    """Trains a model to merge runs, from judged queries.

    runs: ``{name: run}`` (see :class:`Run`); the names become the model's lists.
    learner: one of :func:`learners`; ``auto`` chooses one by cross-validation over the queries.
    validate: judgments of other queries of the same runs, for learners that stop early.
    progress: called as ``progress(done, total)``. If it returns False, training raises :class:`Stopped`; an exception
        that it raises is passed on. Ctrl-C stops training too.
    options: the learner's own (``rounds=100``), and ``depth``, ``derive``, ``feedback``, ``relevance_level``,
        ``unjudged``, ``negative_grades``, ``query_weights``, ``grade_weights``, ``seed``, ``threads``, ``metric``,
        ``patience``, as ``metafuse train --help`` describes them.

    >>> runs = {"words": {"q1": ["a", "b"], "q2": ["c", "d"]}, "vectors": {"q1": ["b", "a"], "q2": ["d", "c"]}}
    >>> train(runs, {"q1": {"b": 1}, "q2": {"d": 1}}, "rankboost", rounds=10)
    <metafuse.Model rankboost of words, vectors>
    >>> train(runs, {"q1": {"b": 1}}, "rankbost")
    Traceback (most recent call last):
    ...
    metafuse._errors.UsageError: no learner "rankbost"; did you mean rankboost, rankboost-blend or rankboost-bagged
    """
    judged = None if validate is None else qrels_of(validate)
    return Model(_metafuse.train(handles_of(runs_of(runs)), qrels_of(qrels), learner, options_of(options), judged,
                                 progress))


def cross_validate(runs, qrels, learner: str = "rankboost", *, folds: int = 4, progress: Progress | None = None,
                   **options) -> dict[str, Any]:
    """Cross-validates a learner: each fold of the queries is tested on a model trained on the other folds.

    Returns, for the ``learner``, the ``baselines`` and each of the ``features`` alone, the best rank of a relevant
    document in each query, the mean of these ranks, and in how many queries a relevant document is among the top 1, 2,
    5 ...; ``options`` are those of :func:`train`.

    >>> runs = {"words": {f"q{i}": ["a", f"r{i}"] for i in range(8)}, "vectors": {f"q{i}": [f"r{i}"] for i in range(8)}}
    >>> report = cross_validate(runs, {f"q{i}": {f"r{i}": 1} for i in range(8)}, folds=4, rounds=5)
    >>> report["learner"]["top_1"]
    8
    """
    text = _metafuse.cross_validate(handles_of(runs_of(runs)), qrels_of(qrels), learner,
                                    options_of({"folds": folds, **options}), progress)
    return json.loads(text)


class Evaluation:
    """A table of queries x measures.

    ``values`` is a numpy array of queries x measures; ``means`` has one value per measure."""

    def __init__(self, queries, names, values, means):
        self.queries: list[str] = queries
        self.measures: list[str] = names
        self.values = values
        self.means = means

    @property
    def summary(self) -> dict[str, float]:
        """One number per measure: the mean over the queries, or the sum for a count."""
        return dict(zip(self.measures, self.means.tolist()))

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """``{query: {measure: value}}``, as pytrec_eval returns it."""
        return {query: dict(zip(self.measures, row)) for query, row in zip(self.queries, self.values.tolist())}

    def __getitem__(self, measure: str) -> float:
        return self.summary[measure]

    def to_frame(self):
        """A pandas DataFrame of queries x measures."""
        import pandas

        return pandas.DataFrame(self.values, index=self.queries, columns=self.measures)

    def __repr__(self) -> str:
        return f"<metafuse.Evaluation of {len(self.queries)} queries: {self.summary}>"


def _measure_text(wanted) -> str:
    return wanted if isinstance(wanted, str) else ",".join(wanted)


def evaluate(run, qrels, measures=DEFAULT_MEASURES, **options) -> Evaluation:
    """Evaluates a run as trec_eval does: by the scores, equal scores by document id from the last to the first. To
    evaluate another order of equal scores, such as a fused run's, give ``{query: [document, ...]}``.

    measures: ``"map,P_10"`` or ``["map", "P_10"]``, with trec_eval's names, or a set such as ``"official"``;
        :func:`measures` lists them all.
    options: ``mode``, ``relevance_level``, ``complete``, ``judged_only``, ``depth``, ``threads``, as
        ``metafuse evaluate --help`` describes them.

    >>> result = evaluate({"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}}, "map,P_1")
    >>> result.summary
    {'map': 0.5, 'P_1': 0.0}
    >>> result.per_query["q1"]["map"]
    0.5
    """
    return Evaluation(*_metafuse.evaluate(runs_of(run if not isinstance(run, Mapping) else [run])[0]._handle,
                                          qrels_of(qrels), _measure_text(measures), options_of(options)))


def compare(runs, qrels, measures=DEFAULT_MEASURES, *, baseline: str | None = None, test: str = "t",
            format: str = "json", **options):
    """Compares runs side by side, and tests each against a baseline with Holm's, Bonferroni's and Tukey's corrections.

    test: ``t``, ``wilcoxon`` or ``randomisation``. format: ``json`` returns a dict; ``table``, ``markdown``,
    ``latex``, ``csv`` and ``html`` return a text. options: those of :func:`evaluate`, ``seed`` and ``per_query``.

    >>> runs = {"a": {"q1": ["x", "y"], "q2": ["x", "y"]}, "b": {"q1": ["y", "x"], "q2": ["x", "y"]}}
    >>> qrels = {"q1": {"y": 1}, "q2": {"x": 1}}
    >>> report = compare(runs, qrels, "map", baseline="a")
    >>> report["comparisons"][0]["wins"]
    1
    """
    text = _metafuse.compare(handles_of(runs_of(runs)), qrels_of(qrels), _measure_text(measures),
                             options_of({"baseline": baseline, "test": test, "format": format, **options}))
    return json.loads(text) if format == "json" else text


def compare_methods(runs, qrels, measures=DEFAULT_MEASURES, *, methods=None, learners=None, folds: int = 5,
                    format: str = "json", progress: Progress | None = None, **options):
    """Compares all fusion methods, and learners by cross-validation, on the same judged queries.

    methods, learners: names (default: all methods, and rankboost); ``learners="none"`` trains none. Everything else is
    as in :func:`compare`.

    >>> runs = {"a": {"q1": ["x", "y"], "q2": ["x", "y"]}, "b": {"q1": ["y", "x"], "q2": ["x", "y"]}}
    >>> report = compare_methods(runs, {"q1": {"y": 1}, "q2": {"x": 1}}, "map", methods=["rrf"], learners="none",
    ...                          folds=2)
    >>> [run["run"] for run in report["runs"]]
    ['best_run', 'rrf']
    """
    text = _metafuse.compare_methods(
        handles_of(runs_of(runs)), qrels_of(qrels), _measure_text(measures),
        options_of({"methods": methods, "learners": learners, "folds": folds, "format": format, **options}), progress)
    return json.loads(text) if format == "json" else text


def methods() -> dict[str, dict[str, Any]]:
    """All fusion methods by name: meaning, source, parameter.

    >>> methods()["rrf"]["k"]["default"]
    60
    """
    return _described("methods")


def learners() -> dict[str, dict[str, Any]]:
    """All learners by name: meaning, source, options.

    >>> "rankboost" in learners()
    True
    """
    return _described("learners")


def measures() -> dict[str, dict[str, Any]]:
    """All measures by name: meaning, source, whether lower is better.

    >>> measures()["map"]["lower_is_better"]
    False
    """
    return _described("measures")


def _described(table: str) -> dict[str, dict[str, Any]]:
    return {row.pop("name"): row for row in json.loads(_metafuse.describe(table))}
