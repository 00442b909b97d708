#!/usr/bin/env python3
"""The demonstration with vectors beside the words: keyword search, vectors, RRF and a learned ranking on the same queries.

usage: demo/hybrid.py METAFUSE [STATE] [--work FOLDER] [--count N]

STATE is state/home-pages, as `scripts/run --no-serve` makes it: documents.jsonl and queries.jsonl. The documents get an index
with vectors by latent semantic indexing, the base queries are asked through the demonstration's templates and one more that
asks for the nearest vectors, and `metafuse compare-methods` judges every ranking by the home page that is the answer."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VECTORS = """  - {id: meaning, engine: meaning, query: '{TOPIC}'}
  - {id: meaning-section, engine: meaning, query: '{TOPIC} [{SECTION}]'}
"""
MEASURES = {"recip_rank": "MRR", "success_1": "top 1", "success_5": "top 5", "success_10": "top 10"}


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout


def record(metafuse, state, folder, count):
    """Asks every base query; returns the run files of the keyword templates and of the vector ones."""
    run(metafuse, "index", "--database", folder / "index.db", state / "documents.jsonl", "--tokenizer", "words,stems,parts", "--language", "en",
        "--cosine", "--embedding", "lsi")
    (folder / "engines.yaml").write_text(
        (ROOT / "demo/engines.yaml").read_text().replace("../state/home-pages/index.db", "index.db")
        + "  - {name: meaning, engine: local_vector, database: index.db, timeout: 10}\n")
    (folder / "templates.yaml").write_text((ROOT / "config/templates/free-software.yaml").read_text() + VECTORS)
    (folder / "metafuse.yaml").write_text(
        "version: 1\ndefault_domain: free-software\ntemplates: [templates.yaml]\nengines: [engines.yaml]\n")
    (folder / "queries.jsonl").write_text("".join((state / "queries.jsonl").open().readlines()[:count]))
    run(metafuse, "record", "--config", folder / "metafuse.yaml", "--domain", "free-software", "--queries",
        folder / "queries.jsonl", "--output", folder / "recording")
    runs = sorted((folder / "recording/runs").iterdir())
    return [path for path in runs if "meaning" not in path.name], [path for path in runs if "meaning" in path.name]


def rows(metafuse, folder, runs, learner):
    """Each ranking's measures: the best single list's, RRF's, the learned one's."""
    report = json.loads(run(metafuse, "compare-methods", "--runs", *runs, "--qrels", folder / "recording/qrels", "--measures",
                            *MEASURES, "--methods", "rrf", "--learners", learner, "--learner-option", "rounds=60",
                            "--folds", "4", "--format", "json"))
    return {row["run"]: row["measures"] for row in report["runs"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("metafuse")
    parser.add_argument("state", nargs="?", default=str(ROOT / "state/home-pages"))
    parser.add_argument("--work")
    parser.add_argument("--count", type=int, default=1200)
    arguments = parser.parse_args()
    metafuse, state = os.path.abspath(arguments.metafuse), pathlib.Path(arguments.state)
    if not (state / "queries.jsonl").is_file():
        raise SystemExit(f"{state} has no queries.jsonl; run: scripts/run --no-serve")
    with tempfile.TemporaryDirectory(prefix="metafuse-hybrid-") as temporary:
        folder = pathlib.Path(arguments.work or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        words, vectors = record(metafuse, state, folder, arguments.count)
        by_words = rows(metafuse, folder, words, "rankboost")
        by_vectors = rows(metafuse, folder, vectors, "none")
        by_all = rows(metafuse, folder, words + vectors, "rankboost")
    table = [(f"keywords: the best of {len(words)} lists", by_words["best_run"]),
             (f"vectors (LSI): the best of {len(vectors)} lists", by_vectors["best_run"]),
             ("RRF of the keyword lists", by_words["rrf"]),
             ("RRF of all lists", by_all["rrf"]),
             ("learned (RankBoost), keyword lists", by_words["rankboost"]),
             ("learned (RankBoost), all lists", by_all["rankboost"])]
    print("| | " + " | ".join(MEASURES.values()) + " |\n|---|" + "---|" * len(MEASURES))
    for name, values in table:
        cells = [f"{values[measure]:.4f}".removeprefix("0") for measure in MEASURES]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
