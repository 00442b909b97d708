#!/usr/bin/env python3
"""Serves a mix of searches for minutes and watches memory, descriptors and threads.

usage: bench/soak.py BUILD_FOLDER [MINUTES]
Uncached and cached searches at a fixed rate below capacity, over the engines of
serve_bench.py and with a store. After a fifth of the time (warm-up) proportional memory is sampled every second; fails
when its straight line rises by more than 1 % of its mean over the rest, or descriptors or threads grow.
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

MIX = (("/search?format=json&q={n}", 40, 8), ("/search?format=json&q=again", 100, 4))


def sample(pid):
    smaps = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Pss:")) / 1024
    return pss, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


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
    pss = [item[0] for item in steady]
    share = 100 * rise(pss) / (sum(pss) / len(pss))
    print(f"memory after warm-up: {pss[0]:.1f} MiB first, {pss[-1]:.1f} last, {max(pss):.1f} most; straight line {share:+.2f} %")
    print(f"descriptors: {steady[0][1]} first, {steady[-1][1]} last; threads: {steady[0][2]} first, {steady[-1][2]} last")
    return share <= 1 and steady[-1][1] <= steady[0][1] + 2 and steady[-1][2] <= steady[0][2]


def main():
    build = pathlib.Path(os.path.abspath(sys.argv[1]))
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory(prefix="metafuse-soak-") as name:
        folder = pathlib.Path(name)
        with serve_bench.engines(folder):
            print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            text = (folder / "cached.yaml").read_text().replace("seconds: 600", "seconds: 20")
            (folder / "soak.yaml").write_text(text + "store: soak.db\nprivacy: {retention_days: 0.001}\n")
            server, address, _ = serve_bench.serve(build / "metafuse", folder, "soak")
            clients = [subprocess.Popen([build / "bench/load_client", str(address[1]), str(rate), str(minutes * 60), str(count),
                                         target], stdout=subprocess.PIPE, text=True) for target, rate, count in MIX]
            try:
                is_flat = watch(server, minutes)
                outcomes = [json.loads(client.communicate()[0]) for client in clients]
                for (target, rate, _), got in zip(MIX, outcomes):
                    print(f"{rate} a second of {target}: {got['complete']} complete, {got['partial']} without some engine, {got['refused']} refused, {got['wrong']} wrong")
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait()
    sys.exit(0 if is_flat and not any(got["wrong"] for got in outcomes) else 1)


main()
