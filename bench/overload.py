#!/usr/bin/env python3
"""A server at four times its capacity: what becomes of each request, and how soon it recovers.

usage: bench/overload.py BUILD_FOLDER [SECONDS]
The engines are those of serve_bench.py, nothing is cached, requests come at a fixed rate whatever the server does
(bench/load_client). Fails when any request is lost or refused without Retry-After.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import serve_bench

TARGET = "/search?format=json&q={n}"


def load(build, port, rate, seconds, connections):
    done = subprocess.run([build / "bench/load_client", str(port), f"{rate:.0f}", f"{seconds:g}", str(connections), TARGET],
                          capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"load_client: {done.stderr}")
    return json.loads(done.stdout)


def show(name, rate, seconds, got):
    print(f"{name:26} {rate:7.0f} {got['complete'] / seconds:9.0f} {got['refused'] / seconds:9.0f} {got['partial']:7d} {got['wrong']:6d} "
          f"{got['p50_ms']:8.2f} {got['p99_ms']:8.2f} {got['refused_p50_ms']:9.2f} {got['refused_p99_ms']:9.2f}")


def seconds_to_recover(build, port, rate, good_p99):
    """Until a quarter of a second goes by without a refusal and with the latency of before."""
    begin = time.monotonic()
    while time.monotonic() - begin < 10:
        got = load(build, port, rate, 0.25, 64)
        if got["refused"] == 0 and got["wrong"] == 0 and got["p99_ms"] <= 2 * good_p99:
            break
    return time.monotonic() - begin


def run(build, folder, seconds):
    server, address, _ = serve_bench.serve(build / "metafuse", folder, "uncached")
    try:
        serve_bench.measure(address, folder, 1, 8, True)
        capacity = serve_bench.measure(address, folder, seconds, 8, True)["requests"] / seconds
        print(f"capacity: {capacity:.0f} searches a second (8 connections, one after another on each)")
        print("                               rate  answered   refused partial  wrong   p50_ms   p99_ms   no_p50_ms no_p99_ms")
        wrong = 0
        for name, times, connections in (("half of capacity", 0.5, 64), ("capacity", 1, 64), ("four times capacity", 4, 512)):
            got = load(build, address[1], times * capacity, seconds, connections)
            show(name, times * capacity, seconds, got)
            wrong += got["wrong"]
            if times == 0.5:
                calm = got["p99_ms"]
        print(f"back to normal at half of capacity after {seconds_to_recover(build, address[1], capacity / 2, calm):.2f} s")
        return 1 if wrong else 0
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main():
    build = pathlib.Path(os.path.abspath(sys.argv[1]))
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="metafuse-overload-") as name:
        folder = pathlib.Path(name)
        with serve_bench.engines(folder):
            print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            sys.exit(run(build, folder, seconds))


main()
