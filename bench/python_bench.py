#!/usr/bin/env python3
"""Fusing and evaluating runs with the Python package, from dicts and from DataFrames, compared with plain Python, which is what one
has without a library.

usage: PYTHONPATH=build/release/python bench/python_bench.py [--queries N] [--runs N] [--depth N]

Prints milliseconds of processor time over all threads, the best of five; each time includes reading the caller's dicts or DataFrames
and making the returned objects. The plain Python is the usual ten lines of RRF (k 60) and a loop for nDCG at 10; both must give the
package's values. Needs Debian's python3-pandas."""
import argparse
import math
import random
import time

import usage


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--depth", type=int, default=1000)
    return parser.parse_args()


given = arguments()
metafuse = usage.module("metafuse", "set PYTHONPATH to build/release/python")
pandas = usage.module("pandas", "Debian's python3-pandas has it for /usr/bin/python3")


def made_up(queries, runs, depth):
    chance = random.Random(7)
    names = [f"doc-{number:06d}" for number in range(4 * depth)]
    lists = {f"run{r}": {f"q{q}": {name: float(depth - i) for i, name in enumerate(chance.sample(names, depth))}
                         for q in range(queries)} for r in range(runs)}
    qrels = {f"q{q}": {name: chance.randint(0, 2) for name in chance.sample(names, depth // 2)} for q in range(queries)}
    return lists, qrels


def plain_rrf(runs, k=60):
    fused = {}
    for query in sorted({query for run in runs.values() for query in run}):
        scores = {}
        for run in runs.values():
            ranked = sorted(run.get(query, {}).items(), key=lambda item: -item[1])
            for rank, (document, _) in enumerate(ranked, 1):
                scores[document] = scores.get(document, 0.0) + 1.0 / (k + rank)
        fused[query] = dict(sorted(scores.items(), key=lambda item: -item[1]))
    return fused


def plain_ndcg(run, qrels, depth=10):
    total = 0.0
    for query, judged in qrels.items():
        ranked = sorted(run.get(query, {}).items(), key=lambda item: (item[1], item[0]), reverse=True)[:depth]
        gain = sum(judged.get(document, 0) / math.log2(i + 2) for i, (document, _) in enumerate(ranked))
        ideal = sum(grade / math.log2(i + 2) for i, grade in enumerate(sorted(judged.values(), reverse=True)[:depth]))
        total += gain / ideal if ideal else 0.0
    return total / len(qrels)


def frame_of(run):
    rows = [(query, document, score) for query, scores in run.items() for document, score in scores.items()]
    return pandas.DataFrame(rows, columns=["qid", "docno", "score"])


def best_ms(work):
    best = math.inf
    for _ in range(5):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best * 1000


def main():
    runs, qrels = made_up(given.queries, given.runs, given.depth)
    frames = {name: frame_of(run) for name, run in runs.items()}
    judged = pandas.DataFrame([(query, document, grade) for query, grades in qrels.items() for document, grade in grades.items()],
                              columns=["qid", "docno", "label"])
    first, first_frame = runs["run0"], frames["run0"]

    ours, theirs = metafuse.fuse(runs), plain_rrf(runs)
    for query, scores in theirs.items():
        if any(abs(ours[query][document] - score) > 1e-12 for document, score in scores.items()):
            raise SystemExit(f"FAILED: another RRF of {query}")
    value, wanted = metafuse.evaluate(first, qrels, ["ndcg_cut_10"])["ndcg_cut_10"], plain_ndcg(first, qrels)
    if abs(value - wanted) > 1e-9:
        raise SystemExit(f"FAILED: nDCG {value} and {wanted}")

    measures = ["map", "ndcg_cut_10", "P_10", "recip_rank"]
    rows = [("fuse by RRF", best_ms(lambda: plain_rrf(runs)), best_ms(lambda: metafuse.fuse(runs)),
             best_ms(lambda: metafuse.fuse(frames))),
            ("evaluate, nDCG@10", best_ms(lambda: plain_ndcg(first, qrels)),
             best_ms(lambda: metafuse.evaluate(first, qrels, ["ndcg_cut_10"])),
             best_ms(lambda: metafuse.evaluate(first_frame, judged, ["ndcg_cut_10"]))),
            ("evaluate, four measures", None, best_ms(lambda: metafuse.evaluate(first, qrels, measures)),
             best_ms(lambda: metafuse.evaluate(first_frame, judged, measures)))]
    print(f"{given.runs} runs of {given.queries} queries, {given.depth} documents each; milliseconds of processor time, best of five\n")
    print("| | plain Python | metafuse, dicts | metafuse, DataFrames |\n|---|---|---|---|")
    for name, plain, dicts, frame in rows:
        print(f"| {name} | {'' if plain is None else f'{plain:.0f}'} | {dicts:.0f} | {frame:.0f} |")


if __name__ == "__main__":
    main()
