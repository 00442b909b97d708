#!/usr/bin/env python3
"""One engine of 16 hangs, and one answer in twenty takes ten times as long: latency, requests, and what is left of the top 10.

usage: bench/hung_engine.py METAFUSE [SEARCHES]
The engines' median times are 200 to 320 ms, log-normal with sigma 0.15. Their lists are as alike as those of MQ2008-agg: two of
them have a rank-biased overlap of .41 in the mean (p .9, ten places; what comes below counts as far as the ten agree). "of 16" is
the overlap of the served top 10 with that of all lists, "of 15" with that of all lists but the hanging engine's. "lists" is how
many of 16 were missing, "requests" how many more the engines got than 16 per search. The second instances have the same times, and
are as often slow.
"""
import asyncio
import contextlib
import http.client
import json
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import tempfile
import threading
import time
import urllib.parse

import local_service
import usage

DOCUMENTS = 200
NOISE = 0.5  # of an engine's opinion of a document, beside the 1 of what all agree on
CLIENTS = 4
WARM_UP = 240
SLOW_SHARE, SLOWER = 0.05, 10
HEALTHY, BAD, SECOND = range(3)
WITHOUT_FIRST = ",".join(f"e{engine}" for engine in range(1, local_service.ENGINES))


def seconds_of(kind, engine, query):
    """How long an answer takes; None: for ever."""
    if kind == BAD and engine == 0:
        return None
    draw = random.Random(f"{kind == SECOND} {engine} {query}")
    usual = (0.2 + 0.008 * engine) * math.exp(0.15 * draw.gauss(0, 1))
    return usual * (SLOWER if kind != HEALTHY and draw.random() < SLOW_SHARE else 1)


def list_of(engine, query):
    common, own = random.Random(query), random.Random(f"{engine} {query}")
    worth = [common.gauss(0, 1) + NOISE * own.gauss(0, 1) for _ in range(DOCUMENTS)]
    best = sorted(range(DOCUMENTS), key=lambda document: -worth[document])[:local_service.RESULTS]
    results = [{"url": f"https://site{n}.example/{n}", "title": f"Page {n}", "content": "Some words."} for n in best]
    return json.dumps({"results": results}).encode()


def serve_engines(ports, counts):
    """Runs until it is killed.

    in:  ports - one per kind; counts - of the requests of each kind
    """
    async def answer(kind, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
                counts[kind] += 1
                url = urllib.parse.urlsplit(target)
                engine, query = int(url.path.split("/")[1][1:]), urllib.parse.parse_qs(url.query)["q"][0]
                began = time.monotonic()
                body = list_of(engine, query)
                wanted = seconds_of(kind, engine, query)
                await asyncio.sleep(3600 if wanted is None else wanted - (time.monotonic() - began))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()

    async def run():
        servers = [await asyncio.start_server(lambda r, w, kind=kind: answer(kind, r, w), "127.0.0.1", port, backlog=512)
                   for kind, port in enumerate(ports)]
        await asyncio.gather(*(server.serve_forever() for server in servers))

    asyncio.run(run())


def write_engines(folder, port, second):
    lines = ["engines:"]
    for engine in range(local_service.ENGINES):
        lines.append(f'  - {{name: e{engine}, engine: json_engine, search_url: "http://127.0.0.1:{port}/e{engine}/x?q={{query}}", '
                     "results_query: results, url_query: url, title_query: title, content_query: content"
                     + (f', instances: ["http://127.0.0.1:{second}"]}}' if second else "}"))
    (folder / "engines.yaml").write_text("\n".join(lines) + "\n")


def search(port, queries, more):
    """Milliseconds, top 10 and number of missing lists of each query, asked by several clients."""
    out, waiting, lock = {}, list(reversed(queries)), threading.Lock()

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                if not waiting:
                    return
                query = waiting.pop()
            began = time.perf_counter()
            connection.request("GET", f"/search?format=json&q={query}{more}")
            answer = json.loads(connection.getresponse().read())
            took = 1e3 * (time.perf_counter() - began)
            out[query] = (took, [result["url"] for result in answer["results"][:10]], len(answer["unresponsive_engines"]))

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return [out[query] for query in queries]


def overlap(one, other, p=0.9):
    """Rank-biased overlap of two lists of the same length, extrapolated (Webber, Moffat, Zobel 2010, eq. 23 with s = l)."""
    depth, total, common = min(len(one), len(other)), 0.0, 0
    for d in range(1, depth + 1):
        common = len(set(one[:d]) & set(other[:d]))
        total += p**(d - 1) * common / d
    return (1 - p) * total + p**depth * common / depth if depth else float(one == other)


def measure(metafuse, folder, counts, kind, ports, searches, settings="", second=None, more=""):
    write_engines(folder, ports[kind], second)
    with local_service.server(metafuse, folder, "cache: {entries: 0}\n" + settings) as (_, port, _):
        search(port, [f"warm{n}" for n in range(WARM_UP)], more)
        before = sum(counts)
        answers = search(port, [f"q{n}" for n in range(searches)], more)
        return answers, (sum(counts) - before) / searches


def show(name, run, healthy_p50, full, without):
    answers, requests = run
    took = sorted(answer[0] for answer in answers)
    p50, p99 = took[len(took) // 2], took[int(0.99 * len(took))]
    agree = lambda reference: statistics.mean(overlap(a[1], b[1]) for a, b in zip(answers, reference))
    print(f"{name:26} {p50:7.0f} {p99:7.0f} {p99 / (healthy_p50 or p50):6.2f} {100 * (requests / 16 - 1):+9.1f} "
          f"{statistics.mean(answer[2] for answer in answers):6.2f} {agree(full):7.3f} {agree(without):7.3f}", flush=True)
    return p50


def main():
    metafuse, *searches = usage.arguments(__doc__, 1, 2)
    metafuse, searches = os.path.abspath(metafuse), int(searches[0]) if searches else 600
    ports = [local_service.free_port() for _ in range(3)]
    counts = multiprocessing.Array("l", 3, lock=False)
    engines = multiprocessing.Process(target=serve_engines, args=(ports, counts), daemon=True)
    engines.start()
    with tempfile.TemporaryDirectory(prefix="metafuse-bench-") as name:
        folder = pathlib.Path(name)
        local_service.write_template(folder)
        run = lambda *args, **more: measure(metafuse, folder, counts, *args[:1], ports, searches, *args[1:], **more)
        patient = "learned_wait: {enabled: false}"
        full = run(HEALTHY, patient)[0]
        without = run(HEALTHY, patient, more=f"&engines={WITHOUT_FIRST}")[0]
        print(f"load {os.getloadavg()[0]:.1f}; {searches} searches\n{'':26}  p50 ms  p99 ms  p99/p50  requests %  lists   of 16   of 15")
        p50 = show("healthy", run(HEALTHY), None, full, without)
        show("hung and slow", run(BAD), p50, full, without)
        show("with second instances", run(BAD, second=ports[SECOND]), p50, full, without)
    engines.kill()


main()
