"""Converts the users' data (dicts, DataFrames, TREC files, lists of ids) to what the library takes, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _metafuse
from ._errors import UsageError


class Fused(NamedTuple):
    """One document of a fused list: the id in the form in which it was given, and its fused score."""

    id: Any
    score: float


def is_frame(value) -> bool:
    """Whether the value is a pandas DataFrame, found out without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def is_run(value) -> bool:
    """Whether the value is a run (a list of documents for each query) rather than one list."""
    if isinstance(value, (Run, str, os.PathLike)) or is_frame(value):
        return True
    if not isinstance(value, Mapping) or not value:
        return False
    return isinstance(next(iter(value.values())), (Mapping, list, tuple))


def _other_names(frame) -> dict[str, str]:
    """PyTerrier's names of the frame's columns that ranx and ir_datasets call otherwise."""
    others = {"q_id": "qid", "query_id": "qid", "doc_id": "docno", "docid": "docno"}
    return {old: new for old, new in others.items() if old in frame.columns and new not in frame.columns}


class Run:
    """For each query, a list of documents, best first.

    ``data`` is ``{query: {document: score}}`` as in pytrec_eval and ranx (higher is better; equal scores keep their
    order), ``{query: [document, ...]}``, a DataFrame with the columns ``qid``, ``docno`` and ``score`` or ``rank`` as
    in PyTerrier (or ``q_id``, ``query_id`` and ``doc_id``, ``docid``), or the path of a TREC run.

    >>> run = Run({"q1": {"d1": 0.5, "d2": 0.9}}, name="dense")
    >>> run.to_dict()
    {'q1': {'d2': 0.9, 'd1': 0.5}}
    """

    def __init__(self, data, name: str | None = None):
        self._form, self._names = "run", {}
        if isinstance(data, Run):
            self._handle, self._form, self._names = data._handle, data._form, data._names
            if name not in (None, data.name):
                raise UsageError(f"the run is already named {data.name}; create it from its data to name it {name}")
        elif isinstance(data, (str, os.PathLike)):
            path = os.fspath(data)
            self._handle = _metafuse.Run.read(path if name is None else f"{name}={path}")
        else:
            self._handle = _metafuse.Run(name or "run")
            self._fill(data)

    def _fill(self, data):
        if is_frame(data):
            self._form, names = "frame", _other_names(data)
            self._names = {new: old for old, new in names.items()}
            data = data.rename(columns=names)
            columns = set(data.columns)
            if not {"qid", "docno"} <= columns or not columns & {"score", "rank"}:
                raise UsageError("a run's table needs the columns qid, docno and score or rank; it has "
                                 + ", ".join(map(str, data.columns)))
            self._handle.add_rows(
                _texts(data["qid"]), _texts(data["docno"]),
                data["score"].to_numpy(dtype="float64") if "score" in columns else None,
                data["rank"].to_numpy(dtype="int64") if "rank" in columns else None)
        elif isinstance(data, Mapping):
            self._form = "dict"
            self._handle.add(data if isinstance(data, dict) else dict(data))
        else:
            raise UsageError("a run is {query: {document: score}}, a DataFrame with qid, docno and score, or the "
                             f"path of a TREC run; this is {type(data).__name__}")

    @property
    def name(self) -> str:
        """The name by which a model finds the run."""
        return self._handle.name

    def __len__(self) -> int:
        return len(self._handle)

    def __repr__(self) -> str:
        return f"<metafuse.Run {self.name}: {len(self)} queries>"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """``{query: {document: score}}``, each list best first."""
        return self._handle.to_dict()

    def to_frame(self):
        """A pandas DataFrame with rank (from 1), score, and qid and docno or what the run's own DataFrame calls them."""
        import pandas

        names = [self._names.get(name, name) for name in ("qid", "docno", "rank", "score")]
        return pandas.DataFrame(dict(zip(names, self._handle.to_rows())))

    def save(self, path) -> None:
        """Writes a TREC run."""
        self._handle.write(os.fspath(path))

    @classmethod
    def _fused(cls, handle, first: Run):
        """The run of a handle in the form of the first run that was fused."""
        run = cls.__new__(cls)
        run._handle, run._form, run._names = handle, "run", first._names
        return run.to_frame() if first._form == "frame" else run.to_dict() if first._form == "dict" else run


def _texts(column) -> list:
    values = column.tolist()
    return values if set(map(type, values)) == {str} else [
        value if isinstance(value, str) else str(value) for value in values]


def runs_of(runs) -> list[Run]:
    """Runs with unique names, from {name: run} or from a sequence, whose unnamed runs are called run1, run2 ..."""
    if isinstance(runs, Mapping):
        return [Run(run, name) for name, run in runs.items()]
    if isinstance(runs, (str, os.PathLike)) or is_frame(runs) or isinstance(runs, Run):
        runs = [runs]
    return [run if isinstance(run, Run) else Run(run) if isinstance(run, (str, os.PathLike)) else
            Run(run, f"run{number}") for number, run in enumerate(runs, 1)]


def handles_of(runs: list[Run]) -> list:
    return [run._handle for run in runs]


def qrels_of(qrels):
    """Judgments from {query: {document: grade}}, a DataFrame (qid, docno, label) or the path of a qrels file."""
    if isinstance(qrels, (str, os.PathLike)):
        return _metafuse.Qrels.read(os.fspath(qrels))
    made = _metafuse.Qrels()
    if is_frame(qrels):
        qrels = qrels.rename(columns=_other_names(qrels))
        grade = next((name for name in ("label", "grade", "relevance") if name in qrels.columns), None)
        if grade is None or not {"qid", "docno"} <= set(qrels.columns):
            raise UsageError("a table of judgments needs the columns qid, docno and label; it has "
                             + ", ".join(map(str, qrels.columns)))
        made.add_rows(_texts(qrels["qid"]), _texts(qrels["docno"]), qrels[grade].to_numpy(dtype="int32"))
    elif isinstance(qrels, Mapping):
        made.add(qrels if isinstance(qrels, dict) else dict(qrels))
    else:
        raise UsageError("judgments are {query: {document: grade}}, a DataFrame with qid, docno and label, or the "
                         f"path of a qrels file; these are {type(qrels).__name__}")
    return made


class Lists:
    """The lists of one query, and their ids in the form in which they were given: any hashable value may be an id."""

    def __init__(self, lists):
        self.ids: dict[str, Any] = {}
        named = lists.items() if isinstance(lists, Mapping) else (
            (f"list{number}", items) for number, items in enumerate(lists, 1))
        self.rows = [self._row(str(name), items) for name, items in named]

    def _row(self, name, items):
        if isinstance(items, Mapping):
            scored = [(value, _number(name, score)) for value, score in items.items()]
            items = sorted(scored, key=lambda pair: -pair[1])
        elif isinstance(items, tuple) and len(items) == 2 and all(
                isinstance(part, list) or hasattr(part, "dtype") for part in items):
            ids, scores = items
            return name, [self._text(value) for value in _listed(ids)], scores
        elif isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
            raise UsageError(f"list {name}: give a list of ids, of (id, score) pairs, or {{id: score}}")
        items = _listed(items)
        if items and all(isinstance(item, tuple) and len(item) == 2 for item in items):
            return name, [self._text(item[0]) for item in items], [_number(name, item[1]) for item in items]
        return name, [self._text(item) for item in items], None

    def _text(self, value) -> str:
        text = value if isinstance(value, str) else str(value)
        if self.ids.setdefault(text, value) != value:
            raise UsageError(f"two ids both become {text}: {self.ids[text]!r} and {value!r}; give texts")
        return text

    def fused(self, pairs) -> list[Fused]:
        return [Fused(self.ids[text], score) for text, score in pairs]


def _number(name: str, score) -> float:
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"list {name}: the score {score!r} is not a number") from None


def _listed(items) -> list:
    return items.tolist() if hasattr(items, "tolist") else list(items)


def options_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as on the command line: underscores become dashes, True becomes yes, None is left out."""
    out = {}
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif not isinstance(value, str) and (isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1):
            value = ",".join(map(str, _listed(value)))
        elif isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            value = int(value)
        out[name.replace("_", "-")] = str(value)
    return out


def weights_of(weights, names: list[str]):
    """Weights in the order of the lists, from a sequence or {name: weight}."""
    if not isinstance(weights, Mapping):
        return weights
    unknown = set(weights) - set(names)
    if unknown:
        raise UsageError(f"weights: there is no list {sorted(unknown)[0]}; the lists are {', '.join(names)}")
    return [weights.get(name, 1.0) for name in names]
