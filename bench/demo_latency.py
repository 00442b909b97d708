#!/usr/bin/env python3
"""Latency of served searches on the demonstration.

usage: bench/demo_latency.py METAFUSE [SEARCHES]
Starts `METAFUSE serve --config demo/metafuse.yaml` on a free port, sends the demonstration's own base queries (each once, so
that no answer comes from the cache), and prints the median and the 95th percentile of the time per search, and the mean time
that fusion took. `scripts/run --no-serve` makes the index, the model and the queries."""
import json
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import usage

root = pathlib.Path(__file__).resolve().parent.parent
queries_file = root / "state/home-pages/queries.jsonl"
metafuse, *searches = usage.arguments(__doc__, 1, 2)
if not queries_file.exists():
    sys.exit(f"{queries_file} is missing; run scripts/run --no-serve first")
wanted = int(searches[0]) if searches else 300
queries = [json.loads(line)["slots"] for line in queries_file.read_text().splitlines()][:wanted]
server = subprocess.Popen([metafuse, "serve", "--config", str(root / "demo/metafuse.yaml"), "--listen", "127.0.0.1:0"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    address = server.stdout.readline().strip()
    if not address:
        sys.exit("the server did not start; does another one use the same store?")
    times = []
    for slots in queries:
        fields = {"slot." + name: value for name, value in slots.items()}
        fields["format"] = "json"
        begin = time.perf_counter()
        with urllib.request.urlopen(address + "/search?" + urllib.parse.urlencode(fields)) as answer:
            answer.read()
        times.append((time.perf_counter() - begin) * 1e3)
    metrics = urllib.request.urlopen(address + "/metrics").read().decode()
finally:
    server.terminate()
    server.wait()
stage = {}
for line in metrics.splitlines():
    for name in ("fetch", "fuse", "render"):
        for part in ("sum", "count"):
            if line.startswith(f'metafuse_search_stage_seconds_{part}{{stage="{name}"}}'):
                stage[name, part] = float(line.split()[-1])
print(f"{len(times)} searches of 25 templates each, one after another")
print(f"whole search    median {statistics.median(times):.2f} ms   95th percentile {sorted(times)[len(times) * 95 // 100]:.2f} ms")
for name in ("fetch", "fuse", "render"):
    if stage.get((name, "count")):
        print(f"{name:8}        mean   {stage[name, 'sum'] / stage[name, 'count'] * 1e3:.3f} ms")
