#!/usr/bin/env python3
"""A server at four times its capacity: the outcome of each request, and how soon the server recovers.

usage: bench/overload.py BUILD_FOLDER [SECONDS]
There are 16 local engines and no cache; bench/load_client sends requests at a fixed rate whatever the server does, and its times
include its own waiting for a core. The "server" columns are the server's times for the same answers, from its log: from the last
byte of the request to the first byte of the answer. Fails if a request is lost or refused without Retry-After.
Needs Debian's nginx-light and wrk.
"""
import json
import os
import pathlib
import sys
import time

import local_service
import serve_bench
import usage

TARGET = "/search?format=json&q={n}"
PHASES = (("half of capacity", 0.5, 64), ("capacity", 1, 64), ("four times capacity", 4, 512))


def load(build, port, rate, seconds, connections):
    return local_service.outcome(local_service.start_load(build, port, rate, seconds, connections, TARGET))


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def served_ms(log):
    """The server's own times, in milliseconds, for the answers since the last call."""
    lines = (json.loads(line) for line in log.read().splitlines())
    return [line["ms"] for line in lines if line.get("event") == "request" and line["status"] == 200]


def show(name, rate, seconds, got, own):
    print(f"{name:20} {rate:6.0f} {got['complete'] / seconds:9.0f} {got['refused'] / seconds:8.0f} {got['partial']:8d} {got['wrong']:6d} "
          f"{got['p50_ms']:7.2f} {got['p99_ms']:7.2f} {percentile(own, 0.5):7.2f} {percentile(own, 0.99):7.2f} "
          f"{got['refused_p50_ms']:8.2f} {got['refused_p99_ms']:7.2f} {got['refused_max_ms']:7.2f}", flush=True)


def seconds_to_recover(build, port, rate, good_p99):
    """The time until a quarter of a second passes without a refusal and with at most twice the former latency."""
    begin = time.monotonic()
    while time.monotonic() - begin < 10:
        got = load(build, port, rate, 0.25, 64)
        if got["refused"] == 0 and got["wrong"] == 0 and got["p99_ms"] <= 2 * good_p99:
            break
    return time.monotonic() - begin


def run(build, folder, port, seconds):
    serve_bench.measure(folder, port, 1, 8)
    capacity = serve_bench.measure(folder, port, seconds, 8)["requests"] / seconds
    print(f"capacity: {capacity:.0f} searches a second (8 connections, one after another on each)")
    print("                                                              answered      by the server       refused")
    print("                       rate  answered  refused  partial  wrong     p50     p99     p50     p99      p50     p99    most")
    wrong, p99 = 0, []
    with open(folder / "server.log") as log:
        log.seek(0, os.SEEK_END)
        for name, times, connections in PHASES:
            got = load(build, port, times * capacity, seconds, connections)
            own = served_ms(log)
            show(name, times * capacity, seconds, got, own)
            wrong += got["wrong"]
            p99.append((got["p99_ms"], percentile(own, 0.99)))
    print("p99 at four times capacity as a multiple of that at half and at all of it: client "
          f"{p99[2][0] / p99[0][0]:.1f} and {p99[2][0] / p99[1][0]:.1f}, server {p99[2][1] / p99[0][1]:.1f} and {p99[2][1] / p99[1][1]:.1f}")
    print(f"back to normal at half of capacity after {seconds_to_recover(build, port, capacity / 2, p99[0][0]):.2f} s")
    return 1 if wrong else 0


def main():
    folder, *seconds = usage.arguments(__doc__, 1, 2)
    build = pathlib.Path(os.path.abspath(folder))
    seconds = float(seconds[0]) if seconds else 5
    with local_service.engines() as (folder, _, _), \
            local_service.server(build / "metafuse", folder, serve_bench.UNCACHED) as (_, port, _):
        sys.exit(run(build, folder, port, seconds))


main()
