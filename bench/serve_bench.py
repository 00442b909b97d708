#!/usr/bin/env python3
"""Searches served over 16 local nginx files of 30 results: CPU milliseconds of each process, latency, throughput.

usage: bench/serve_bench.py METAFUSE [SECONDS]
Prints what libcurl alone needs for the same 16 lists, then a table of searches that are never cached, and of cached ones in
each dialect. Needs Debian's nginx-light and wrk.
"""
import os
import pathlib
import re
import resource
import subprocess

import local_service
import usage

UNCACHED = "cache: {entries: 0}"
CACHED = "cache: {entries: 4096, seconds: 600}"
VARIED = """
local n = 0
local base = tostring({}):sub(8)
request = function() n = n + 1; return wrk.format('GET', '/search?format=json&q=q' .. base .. 'x' .. n) end
"""
POST = """
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
wrk.body = '%s'
"""
MCP = """
local n = 0
local headers = {['Content-Type'] = 'application/json', ['MCP-Protocol-Version'] = '2025-06-18'}
request = function()
  n = n + 1
  return wrk.format('POST', '/mcp', headers, '{"jsonrpc":"2.0","id":' .. n .. ',"method":"tools/call",' ..
    '"params":{"name":"web_search","arguments":{"query":"q","limit":30}}}')
end
"""
MODES = (  # name, settings, connections, path, wrk's script
    ("uncached", UNCACHED, 1, "/search", VARIED),
    ("uncached", UNCACHED, 8, "/search", VARIED),
    ("cached json", CACHED, 8, "/search?q=q&format=json", ""),
    ("cached page", CACHED, 8, "/search?q=q", ""),
    ("cached v1", CACHED, 8, "/v1/search", POST % '{"query":"q"}'),
    ("cached tavily", CACHED, 8, "/search", POST % '{"query":"q","max_results":20}'),
    ("cached mcp", CACHED, 8, "/mcp", MCP),
)


def milliseconds(text):
    for unit, scale in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * scale
    return float(text)


def measure(folder, port, seconds, connections, path="/search", script=VARIED):
    """wrk's number of requests, p50 and p99 in ms, number of answers other than 200, and wrk's own CPU seconds."""
    (folder / "script.lua").write_text(script)
    command = [usage.program("wrk", "wrk"), "-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "-s", folder / "script.lua"]
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    text = subprocess.run([*command, f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True).stdout
    own = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
    found = lambda pattern, default="0": (re.search(pattern, text) or [None, default])[1]
    return {"requests": int(found(r"(\d+) requests in")), "bad": int(found(r"Non-2xx or 3xx responses: (\d+)")),
            "p50": milliseconds(found(r"\n\s+50%\s+(\S+)")), "p99": milliseconds(found(r"\n\s+99%\s+(\S+)")), "cpu": own}


def row(metafuse, folder, nginx, seconds, mode):
    name, settings, connections, path, script = mode
    with local_service.server(metafuse, folder, settings) as (server, port, ready_ms):
        measure(folder, port, 1, connections, path, script)
        asked = [server.pid], local_service.with_children(nginx)
        before = [local_service.cpu_seconds(pids) for pids in asked]
        got = measure(folder, port, seconds, connections, path, script)
        own, theirs = (local_service.cpu_seconds(pids) - earlier for pids, earlier in zip(asked, before))
        memory = local_service.proportional_mib(server.pid)
    each = lambda cpu: cpu * 1e3 / max(1, got["requests"])
    share = lambda cpu: 100 * cpu / seconds / os.cpu_count()
    print(f"{name:13} {connections:7d} {got['requests']:8d} {got['requests'] / seconds:8.0f} {got['p50']:7.2f} {got['p99']:7.2f} "
          f"{each(own):8.4f} {each(theirs):7.4f} {each(got['cpu']):7.4f} "
          f"{share(own):4.0f} {share(theirs):4.0f} {share(got['cpu']):4.0f} {got['bad']:4d} {ready_ms:6.0f} {memory:6.1f}", flush=True)


def main():
    program, *seconds = usage.arguments(__doc__, 1, 2)
    metafuse = os.path.abspath(program)
    seconds = float(seconds[0]) if seconds else 5
    with local_service.engines() as (folder, port, nginx):
        floor = pathlib.Path(metafuse).parent / "bench/fetch_lists"
        if floor.exists():
            print("one round of 16 lists, libcurl's transfers alone and the whole fetch:")
            done = subprocess.run([floor, f"http://127.0.0.1:{port}"], check=True, capture_output=True, text=True)
            print(done.stdout, end="")
        print("                                                latency, ms  CPU-ms a search         % of all cores")
        print("mode          clients requests  per_sec     p50     p99 metafuse   nginx  client  own  ngx  cli  bad  ready    pss")
        for mode in MODES:
            row(metafuse, folder, nginx, seconds, mode)


if __name__ == "__main__":
    main()
