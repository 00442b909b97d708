#!/usr/bin/env python3
"""Served searches over 16 local nginx files of 30 results: CPU-milliseconds of each process, latency, throughput.

usage: bench/serve_bench.py METAFUSE [SECONDS]
Prints one table, and before it what libcurl alone needs for the same 16 lists. Needs Debian's nginx-light and wrk.
"""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

ENGINES = 16
RESULTS = 30
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pids):
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def write_engines(folder, port):
    for engine in range(ENGINES):
        results = []
        for rank in range(RESULTS):
            number = (rank * 7 + engine * 11) % 90
            results.append({"url": f"https://site{number}.example/page/{number}", "title": f"Page {number} of the site",
                            "content": "Some words that a search engine shows under the title of a result. " * 4})
        (folder / f"html/e{engine}").mkdir()
        for name in (f"html/e{engine}.json", f"html/e{engine}/search.json"):
            (folder / name).write_text(json.dumps({"results": results}))
    lines = ["engines:"]
    for engine in range(ENGINES):
        lines += [f"  - name: e{engine}", "    engine: json_engine",
                  f'    search_url: "http://127.0.0.1:{port}/e{engine}.json?q={{query}}"',
                  "    results_query: results", "    url_query: url", "    title_query: title",
                  "    content_query: content", "    timeout: 3.0"]
    (folder / "engines.yaml").write_text("\n".join(lines) + "\n")


def write_files(folder, port):
    (folder / "html").mkdir()
    (folder / "templates").mkdir()
    write_engines(folder, port)
    (folder / "vary.lua").write_text(
        "local n = 0\nlocal base = tostring({}):sub(8)\n"
        "request = function() n = n + 1; return wrk.format('GET', '/search?format=json&q=q' .. base .. 'x' .. n) end\n")
    names = ", ".join(f"e{engine}" for engine in range(ENGINES))
    (folder / "templates/bench.yaml").write_text(
        "version: 1\ndomain: bench\nslots: {QUERY: {required: true}}\ntemplates:\n"
        f"  - {{id: plain, engine: [{names}], query: '{{QUERY}}'}}\n")
    for name, entries in (("uncached", 0), ("cached", 4096)):
        (folder / f"{name}.yaml").write_text(
            "version: 1\nlisten: 127.0.0.1:0\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\n"
            f"cache: {{entries: {entries}, seconds: 600}}\n")
    (folder / "nginx.conf").write_text(
        f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; keepalive_requests 10000000; client_body_temp_path {folder}/t1; "
        f"proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; "
        f"scgi_temp_path {folder}/t5;\n"
        f"  server {{ listen 127.0.0.1:{port}; root {folder}/html; default_type application/json; }} }}\n")


def milliseconds(text):
    for unit, scale in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * scale
    return float(text)


def measure(address, folder, seconds, clients, varies):
    """wrk's requests, p50 and p99 in ms, answers other than 200, CPU seconds of its own."""
    url = f"http://{address[0]}:{address[1]}/search?q=q&format=json"
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--latency"]
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    text = subprocess.run(command + (["-s", folder / "vary.lua"] if varies else []) + [url], check=True,
                          capture_output=True, text=True).stdout
    own = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
    found = lambda pattern, default="0": (re.search(pattern, text) or [None, default])[1]
    return {"requests": int(found(r"(\d+) requests in")), "bad": int(found(r"Non-2xx or 3xx responses: (\d+)")),
            "p50": milliseconds(found(r"\n\s+50%\s+(\S+)")), "p99": milliseconds(found(r"\n\s+99%\s+(\S+)")), "cpu": own}


def serve(metafuse, folder, name):
    begin = time.perf_counter()
    server = subprocess.Popen([metafuse, "serve", "--config", folder / f"{name}.yaml"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    line = server.stdout.readline().strip()
    ready_ms = (time.perf_counter() - begin) * 1e3
    host, port = line.removeprefix("http://").split(":")
    return server, (host, int(port)), ready_ms


def row(metafuse, folder, nginx, name, clients, seconds):
    server, address, ready_ms = serve(metafuse, folder, name)
    varies = name == "uncached"
    measure(address, folder, 1, clients, varies)
    nginx_pids = [nginx.pid, *children(nginx.pid)]
    before = cpu_seconds([server.pid]), cpu_seconds(nginx_pids)
    got = measure(address, folder, seconds, clients, varies)
    own, theirs = (after - earlier for after, earlier in zip((cpu_seconds([server.pid]), cpu_seconds(nginx_pids)), before))
    smaps = pathlib.Path(f"/proc/{server.pid}/smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Pss:")) / 1024
    server.send_signal(signal.SIGTERM)
    server.wait()
    each = lambda cpu: cpu * 1e3 / max(1, got["requests"])
    share = lambda cpu: 100 * cpu / seconds / os.cpu_count()
    print(f"{name:9} {clients:7d} {got['requests']:8d} {got['requests'] / seconds:8.0f} {got['p50']:7.2f} {got['p99']:7.2f} "
          f"{each(own):8.4f} {each(theirs):7.4f} {each(got['cpu']):7.4f} "
          f"{share(own):4.0f} {share(theirs):4.0f} {share(got['cpu']):4.0f} {got['bad']:4d} {ready_ms:6.0f} {pss:6.1f}")


@contextlib.contextmanager
def engines(folder):
    """Files, configuration and nginx in a folder; the port of nginx."""
    folder.chmod(0o755)
    port = free_port()
    write_files(folder, port)
    nginx = subprocess.Popen(["/usr/sbin/nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"])
    try:
        time.sleep(0.3)
        yield port, nginx
    finally:
        nginx.terminate()
        nginx.wait()


def main():
    metafuse = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="metafuse-bench-") as name:
        folder = pathlib.Path(name)
        with engines(folder) as (port, nginx):
            print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            floor = pathlib.Path(metafuse).parent / "bench/fetch_lists"
            if floor.exists():
                print("one round of 16 lists, libcurl's transfers alone and the whole fetch:")
                done = subprocess.run([floor, f"http://127.0.0.1:{port}"], check=True, capture_output=True, text=True)
                print(done.stdout, end="")
            print("                                            latency, ms  CPU-ms a search         % of all cores")
            print("mode      clients requests  per_sec     p50     p99 metafuse   nginx  client  own  ngx  cli  bad  ready    pss")
            for mode, clients in (("uncached", 1), ("uncached", 8), ("cached", 8)):
                row(metafuse, folder, nginx, mode, clients, seconds)


if __name__ == "__main__":
    main()
