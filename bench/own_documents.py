#!/usr/bin/python3
"""How well `metafuse init` ranks one's own documents: its lists, RRF by k, and what `auto` learns.

usage: bench/own_documents.py METAFUSE COLLECTIONS [NAME...] [--learn] [--keep FOLDER]
COLLECTIONS holds one folder for each collection, with docs.jsonl or docs.jsonl.xz (a document a line, for `metafuse index`)
and judged.jsonl (a question a line, for `metafuse record`). For each collection it runs `init` with no option, records the
lists, and prints the mean average precision of the first 100 results: of every list, of RRF with each k, and of RRF with
the k that is best on all other collections. --learn adds ten folds of `auto`, and what it learns from 5, 10 and 20 judged
questions (five draws). Nothing is chosen on the collection that it is measured on.
"""
import argparse
import glob
import json
import lzma
import os
import random
import subprocess
import tempfile

TRIED_K = [1, 2, 3, 5, 8, 10, 15, 20, 30, 60]
DEPTH = 100
DRAWS = 5


def run(*command, **options):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options).stdout


def record(program, source, folder):
    """The lists of every question and the judgments, from a fresh `init`."""
    text = os.path.join(folder, "docs.jsonl")
    packed = os.path.join(source, "docs.jsonl.xz")
    with open(text, "w") as out:
        out.write(lzma.open(packed, "rt").read() if os.path.exists(packed) else open(packed[:-3]).read())
    work = os.path.join(folder, "w")
    if not os.path.exists(os.path.join(work, "recording", "qrels")):
        run(program, "init", work, "--documents", text)
        run(program, "record", "--domain", "documents", "--queries", os.path.abspath(os.path.join(source, "judged.jsonl")),
            "--output", "recording", cwd=work)
    return os.path.join(work, "recording")


def read_runs(recording):
    runs = {}
    for path in sorted(glob.glob(recording + "/runs/*.run")):
        lists = runs.setdefault(os.path.basename(path)[:-4], {})
        for line in open(path):
            if line.startswith("#"):
                continue
            query, _, document, rank = line.split()[:4]
            lists.setdefault(query, []).append((int(rank), document))
    return {name: {query: [document for _, document in sorted(ranked)] for query, ranked in lists.items()}
            for name, lists in runs.items()}


def read_qrels(recording):
    relevant = {}
    for line in open(recording + "/qrels"):
        if not line.startswith("#"):
            query, _, document, grade = line.split()
            if int(grade) > 0:
                relevant.setdefault(query, set()).add(document)
    return relevant


def precision(ranked, relevant):
    found, total = 0, 0.0
    for place, document in enumerate(ranked[:DEPTH], 1):
        if document in relevant:
            found += 1
            total += found / place
    return total / len(relevant)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def rrf(runs, relevant, k):
    def fused(query):
        scores = {}
        for lists in runs.values():
            for rank, document in enumerate(lists.get(query, []), 1):
                scores[document] = scores.get(document, 0.0) + 1 / (k + rank)
        return sorted(scores, key=lambda document: (-scores[document], document))
    return mean(precision(fused(query), documents) for query, documents in relevant.items())


def learned(program, recording, k, folder):
    """Ten folds of auto, and the mean of draws of few judged questions, beside RRF on the same questions."""
    runs = sorted(glob.glob(recording + "/runs/*.run"))
    table = run(program, "compare-methods", "--runs", *runs, "--qrels", recording + "/qrels", "--folds", "10", "--limit",
                str(DEPTH), "--measures", "map", "--learners", "auto", "--learner-option", f"k={k}", "--methods", "rrf",
                "--format", "json")
    auto = next(row for row in json.loads(table)["methods"] if row["name"] == "auto")["means"]["map"]
    relevant, lists = read_qrels(recording), read_runs(recording)
    few = {}
    for count in (5, 10, 20):
        gains = []
        for draw in range(DRAWS if count < len(relevant) else 0):
            chosen = set(random.Random(draw).sample(sorted(relevant), count))
            qrels, model, fused = (os.path.join(folder, name) for name in ("qrels", "model.json", "fused.run"))
            with open(qrels, "w") as out:
                out.writelines(f"{query} 0 {document} 1\n" for query in chosen for document in sorted(relevant[query]))
            run(program, "train", "--runs", *runs, "--qrels", qrels, "--k", str(k), "--model", model)
            run(program, "fuse", "--model", model, "--runs", *runs, "--output", fused)
            order = {}
            for line in open(fused):
                if not line.startswith("#"):
                    query, _, document, rank = line.split()[:4]
                    order.setdefault(query, []).append((int(rank), document))
            rest = {query: documents for query, documents in relevant.items() if query not in chosen}
            after = mean(precision([d for _, d in sorted(order.get(query, []))], documents) for query, documents in rest.items())
            gains.append(after - rrf(lists, rest, k))
        few[count] = mean(gains) if gains else None
    return auto, few


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("collections")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--keep", help="folder for the recordings; those in it are used again")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    names = arguments.names or sorted(name for name in os.listdir(arguments.collections)
                                      if os.path.exists(os.path.join(arguments.collections, name, "judged.jsonl")))
    with tempfile.TemporaryDirectory() as temporary:
        by_k, best, recordings = {}, {}, {}
        for name in names:
            folder = os.path.join(arguments.keep or temporary, name)
            os.makedirs(folder, exist_ok=True)
            recordings[name] = record(program, os.path.join(arguments.collections, name), folder)
            runs, relevant = read_runs(recordings[name]), read_qrels(recordings[name])
            singles = {list_name: mean(precision(lists.get(query, []), documents) for query, documents in relevant.items())
                       for list_name, lists in runs.items()}
            best[name] = max(singles.values())
            by_k[name] = {k: rrf(runs, relevant, k) for k in TRIED_K}
            print(name, ", ".join(f"{list_name} {value:.4f}" for list_name, value in singles.items()), flush=True)
        print(f"\n{'':22}" + "".join(f"{name:>9}" for name in names) + f"{'mean':>9}")

        def row(title, values):
            print(f"{title:22}" + "".join(f"{value:9.4f}" for value in values) + f"{mean(values):9.4f}", flush=True)
        row("best list", [best[name] for name in names])
        for k in TRIED_K:
            row(f"RRF, k {k}", [by_k[name][k] for name in names])
        if len(names) > 1:
            chosen = {name: max(TRIED_K, key=lambda k: mean(by_k[other][k] for other in names if other != name)) for name in names}
            row("RRF, k of the others", [by_k[name][chosen[name]] for name in names])
            row("  minus the best list", [by_k[name][chosen[name]] - best[name] for name in names])
            print("  k of the others: " + ", ".join(f"{name} {chosen[name]}" for name in names))
        if arguments.learn:
            k = max(TRIED_K, key=lambda k: mean(by_k[name][k] for name in names))
            results = [learned(program, recordings[name], k, temporary) for name in names]
            row(f"auto, ten folds, k {k}", [auto for auto, _ in results])
            row("  minus the best list", [auto - best[name] for name, (auto, _) in zip(names, results)])
            for count in (5, 10, 20):
                gains = [few[count] for _, few in results]
                if None not in gains:
                    row(f"  {count} judged, gain", gains)


main()
