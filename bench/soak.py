#!/usr/bin/env python3
"""Serves a mix of searches for minutes and watches memory, descriptors and threads.

usage: bench/soak.py BUILD_FOLDER [MINUTES]
Sends uncached and cached searches at a fixed rate below capacity to a server with 16 local engines and a store. After a fifth of
the time (warm-up), proportional memory is sampled every second. Fails if the straight line fitted to it rises by more than 1 % of
its mean over the rest of the time, or if descriptors or threads grow. Anonymous memory, which the process wrote itself, is reported
separately: the rest are pages of the program and its libraries, whose proportional share depends on the other processes that use them.
Needs Debian's nginx-light.
"""
import os
import pathlib
import sys
import time

import local_service
import usage

SETTINGS = "cache: {seconds: 20}\nstore: soak.db\nprivacy: {retention_days: 0.001}"
MIX = (("/search?format=json&q={n}", 40, 8), ("/search?format=json&q=again", 100, 4))


def sample(pid):
    return (local_service.proportional_mib(pid), local_service.proportional_mib(pid, "Pss_Anon"),
            len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")))


def rise(values):
    """By how much the straight line fitted to the values rises from the first to the last."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / sum((x - mean_x) ** 2 for x in range(n))
    return slope * (n - 1)


def show(name, values):
    """out: by what percentage of their mean the values rise"""
    share = 100 * rise(values) / (sum(values) / len(values))
    print(f"{name} after warm-up: {values[0]:.1f} MiB first, {values[-1]:.1f} last, {max(values):.1f} most; straight line {share:+.2f} %")
    return share


def watch(server, minutes):
    samples = [sample(server.pid)]
    print(f"memory when ready: {samples[0][0]:.1f} MiB, of it anonymous {samples[0][1]:.1f}", flush=True)
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until:
        time.sleep(1)
        samples.append(sample(server.pid))
    steady = samples[len(samples) // 5:]
    memory, anonymous, descriptors, threads = zip(*steady)
    share = show("memory", memory)
    show("of it anonymous", anonymous)
    print(f"descriptors: {descriptors[0]} first, {descriptors[-1]} last; threads: {threads[0]} first, {threads[-1]} last")
    return share <= 1 and descriptors[-1] <= descriptors[0] + 2 and threads[-1] <= threads[0]


def main():
    folder, *minutes = usage.arguments(__doc__, 1, 2)
    build = pathlib.Path(os.path.abspath(folder))
    minutes = float(minutes[0]) if minutes else 10
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
