#!/usr/bin/env python3
"""Fusing callers' lists: requests per second of POST /v1/fuse, and the processor time of each part of a request.

usage: bench/fuse_bench.py METAFUSE [SECONDS [OTHER ROUNDS]]
Bodies contain 16 lists of 30 or 2 lists of 100, of ids or of objects with id and score; their documents overlap like the lists
of one query. "served" is the server's processor time per request; "twin" is that of `metafuse fuse --json` for the same request,
without HTTP and log; both are in microseconds. The difference is due to HTTP, log, metrics and passing requests between
threads. With OTHER, another build of the program, both are measured in turns, and the ratios of METAFUSE's rates and processor times
to OTHER's are printed: medians over the rounds, with 95 % intervals. Needs Debian's wrk.
"""
import json
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

import bursts
import local_service
import usage

SCRIPT = """
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
local file = io.open('%s')
wrk.body = file:read('*a')
file:close()
"""
CONFIG = "version: 1\nlisten: 127.0.0.1:%d\ntemplates: [domain.yaml]\nengines: [engines.yaml]\n"
DOMAIN = "version: 1\ndomain: lists\nlists: [a]\n"
CONNECTIONS = 8
TWINS = 3000


def body(lists, length, has_scores):
    chance = random.Random(7)
    pool = [f"document-{number}" for number in range(3 * length)]
    out = []
    for number in range(lists):
        chosen = chance.sample(pool, length)
        results = [{"id": name, "score": round(1 / (rank + 1), 4)} for rank, name in enumerate(chosen)] if has_scores else chosen
        out.append({"name": f"list{number}", "results": results})
    return json.dumps({"lists": out}, separators=(",", ":"))


def twin_us(metafuse, folder, text):
    """Microseconds of processor time per request, without the start of the program."""
    def seconds(count):
        (folder / "lines").write_text((text + "\n") * count)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([metafuse, "fuse", "--json", folder / "lines"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (seconds(TWINS) - seconds(1)) / (TWINS - 1) * 1e6


def served(metafuse, folder, text, seconds):
    port = local_service.free_port()
    (folder / "body.json").write_text(text)
    (folder / "script.lua").write_text(SCRIPT % (folder / "body.json"))
    (folder / "metafuse.yaml").write_text(CONFIG % port)
    (folder / "domain.yaml").write_text(DOMAIN)
    (folder / "engines.yaml").write_text("engines: []\n")
    server = subprocess.Popen([metafuse, "serve", "--config", folder / "metafuse.yaml"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        server.stdout.readline()
        command = [usage.program("wrk", "wrk"), "-t1", f"-c{CONNECTIONS}", "-s", folder / "script.lua"]
        url = f"http://127.0.0.1:{port}/v1/fuse"
        subprocess.run([*command, "-d1s", url], check=True, capture_output=True)
        before = bursts.thread_seconds([server.pid])
        text = subprocess.run([*command, f"-d{seconds}s", url], check=True, capture_output=True, text=True).stdout
        cpu = bursts.thread_seconds([server.pid]) - before
        requests = int(re.search(r"(\d+) requests in", text)[1])
        if "Non-2xx" in text:
            sys.exit("the server refused requests:\n" + text)
        return requests / seconds, cpu / requests * 1e6
    finally:
        server.terminate()
        server.wait()


def print_ratios(programs, folder, kind, text, seconds, rounds):
    measured = [[], []]
    for turn in range(rounds):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            measured[i].append(served(programs[i], folder, text, seconds))
    own, other = (list(zip(*rows)) for rows in measured)
    columns = "".join("  {:.2f} ({:.2f} to {:.2f})".format(*bursts.ratio_interval(own[i], other[i])) for i in (0, 1))
    print(f"{kind}{columns}", flush=True)


def main():
    program, *others = usage.arguments(__doc__, 1, 4)
    metafuse = pathlib.Path(program).resolve()
    seconds = int(others[0]) if others else 5
    print("load average", pathlib.Path("/proc/loadavg").read_text().split()[0])
    if len(others) > 1:
        programs = metafuse, pathlib.Path(others[1]).resolve()
        print("lists                  rate                 processor time")
        with tempfile.TemporaryDirectory() as name:
            for lists, length, has_scores in ((16, 30, False), (2, 100, False), (16, 30, True)):
                kind = f"{lists:2d} of {length:3d}, {'objects' if has_scores else 'ids':8s}"
                print_ratios(programs, pathlib.Path(name), kind, body(lists, length, has_scores), seconds, int(others[2]))
        return
    print("lists                  per_sec  served_us  twin_us  http_us")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for lists, length in ((16, 30), (2, 100)):
            for has_scores in (False, True):
                text = body(lists, length, has_scores)
                rate, own = served(metafuse, folder, text, seconds)
                twin = twin_us(metafuse, folder, text)
                kind = "objects" if has_scores else "ids"
                print(f"{lists:2d} of {length:3d}, {kind:8s} {rate:12.0f} {own:10.1f} {twin:8.1f} {own - twin:8.1f}", flush=True)


if __name__ == "__main__":
    main()
