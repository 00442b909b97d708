#!/usr/bin/env python3
"""Serves a mix of searches for minutes and watches memory, descriptors and threads.

usage: bench/soak.py BUILD_FOLDER [MINUTES]
Uncached and cached searches at a fixed rate below capacity, over 16 local engines and with a store. After a fifth of the
time (warm-up) proportional memory is sampled every second; fails when its straight line rises by more than 1 % of its mean
over the rest, or descriptors or threads grow.
"""
import os
import pathlib
import sys
import time

import local_service

SETTINGS = "cache: {seconds: 20}\nstore: soak.db\nprivacy: {retention_days: 0.001}"
MIX = (("/search?format=json&q={n}", 40, 8), ("/search?format=json&q=again", 100, 4))


def sample(pid):
    return local_service.proportional_mib(pid), len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def rise(values):
    """By how much the straight line through the values rises from the first to the last."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / sum((x - mean_x) ** 2 for x in range(n))
    return slope * (n - 1)


def watch(server, minutes):
    samples = []
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until:
        time.sleep(1)
        samples.append(sample(server.pid))
    steady = samples[len(samples) // 5:]
    memory = [item[0] for item in steady]
    share = 100 * rise(memory) / (sum(memory) / len(memory))
    print(f"memory after warm-up: {memory[0]:.1f} MiB first, {memory[-1]:.1f} last, {max(memory):.1f} most; straight line {share:+.2f} %")
    print(f"descriptors: {steady[0][1]} first, {steady[-1][1]} last; threads: {steady[0][2]} first, {steady[-1][2]} last")
    return share <= 1 and steady[-1][1] <= steady[0][1] + 2 and steady[-1][2] <= steady[0][2]


def main():
    build = pathlib.Path(os.path.abspath(sys.argv[1]))
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    with local_service.engines() as (folder, _, _), \
            local_service.server(build / "metafuse", folder, SETTINGS) as (server, port, _):
        clients = [local_service.start_load(build, port, rate, minutes * 60, count, target) for target, rate, count in MIX]
        is_flat = watch(server, minutes)
        outcomes = [local_service.outcome(client) for client in clients]
        for (target, rate, _), got in zip(MIX, outcomes):
            print(f"{rate} a second of {target}: {got['complete']} complete, {got['partial']} without some engine, "
                  f"{got['refused']} refused, {got['wrong']} wrong")
    sys.exit(0 if is_flat and not any(got["wrong"] for got in outcomes) else 1)


main()
