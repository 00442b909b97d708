#!/usr/bin/env python3
"""The demonstration with three real engines: templates x {groonga, Xapian Omega, SQLite} as ranking features.

usage: demo/three_engines.py METAFUSE DOCUMENTS.jsonl QUERIES.jsonl WORK_FOLDER [--count N] [--rounds N]

Starts the engines on loopback with the demonstration's documents, records the first N base queries through all
templates, and prints the cross-validated table. `scripts/run --no-serve` makes the two files in state/home-pages/."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess

from loopback_engines import groonga, omega, sqlite, stop_all

TEMPLATES = """version: 1
domain: free-software
depth: 30
slots:
  TOPIC: {required: true}
  SECTION: {}
  KIND: {}
templates:
  - {id: words-all, engine: [groonga, omega, sqlite], query: '{TOPIC|all}'}
  - {id: words-any, engine: [groonga, omega, sqlite], query: '{TOPIC|any}'}
  - {id: phrase, engine: [groonga, omega, sqlite], query: '{TOPIC|phrase}'}
  - {id: all-section, engine: [groonga, omega], query: '{TOPIC|all} [{SECTION|all}]'}
  - {id: all-section-fts, engine: sqlite, query: '{TOPIC|all} [AND {SECTION|all}]'}
  - {id: all-kind, engine: [groonga, omega], query: '{TOPIC|all} [{KIND|all}]'}
  - {id: all-kind-fts, engine: sqlite, query: '{TOPIC|all} [AND {KIND|all}]'}
  - {id: first-section, engine: [groonga, omega], query: '{TOPIC|first} [{SECTION|all}]'}
  - {id: first-section-fts, engine: sqlite, query: '{TOPIC|first} [AND {SECTION|all}]'}
  - {id: last-section, engine: [groonga, omega], query: '{TOPIC|last} [{SECTION|all}]'}
  - {id: last-section-fts, engine: sqlite, query: '{TOPIC|last} [AND {SECTION|all}]'}
"""


def text_of(value):
    return " ".join(value) if isinstance(value, list) else str(value or "")


def read_documents(path):
    documents = []
    for line in open(path):
        document = json.loads(line)
        text = " ".join(text_of(document.get(name)) for name in ("text", "sections", "tags", "words"))
        documents.append((document["url"], text_of(document.get("title")), " ".join(text.split())))
    return documents


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("metafuse")
    parser.add_argument("documents")
    parser.add_argument("queries")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--rounds", default="60")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder).resolve()
    shutil.rmtree(folder / "engines", ignore_errors=True)
    shutil.rmtree(folder / "recording", ignore_errors=True)
    documents = read_documents(arguments.documents)
    blocks = []
    for make in (groonga, omega, sqlite):
        own = folder / "engines" / make.__name__
        own.mkdir(parents=True)
        os.chmod(folder, 0o755)
        block = make(own, documents)
        if block is None:
            raise SystemExit(f"{make.__name__} is not installed; see scripts/packages.txt")
        syntax = ", query_syntax: fts5" if make is sqlite else ""
        blocks.append("  - " + block[:-1] + syntax + ", timeout: 20}")
    (folder / "engines.yaml").write_text("engines:\n" + "\n".join(blocks) + "\n")
    (folder / "templates.yaml").write_text(TEMPLATES)
    (folder / "metafuse.yaml").write_text("version: 1\ndefault_domain: free-software\ntemplates: [templates.yaml]\nengines: [engines.yaml]\n")
    queries = open(arguments.queries).readlines()[:arguments.count]
    (folder / "queries.jsonl").write_text("".join(queries))
    metafuse = os.path.abspath(arguments.metafuse)
    run(metafuse, "record", "--config", str(folder / "metafuse.yaml"), "--domain", "free-software", "--queries",
        str(folder / "queries.jsonl"), "--output", str(folder / "recording"))
    runs = sorted(str(path) for path in (folder / "recording" / "runs").iterdir())
    print(f"{len(documents)} home pages, {len(queries)} base queries, {len(runs)} ranking features")
    print(run(metafuse, "crossvalidate", "--runs", *runs, "--qrels", str(folder / "recording" / "qrels"), "--depth", "30", "--folds",
              "4", "--learner", "rankboost", "--weak-learner", "3.cum", "--rounds", arguments.rounds, "--seed", "1"), end="")


if __name__ == "__main__":
    try:
        main()
    finally:
        stop_all()
