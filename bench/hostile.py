#!/usr/bin/env python3
"""What eight normal clients lose when one hostile client attacks the server.

usage: bench/hostile.py METAFUSE [SECONDS [ROW ...]]. Starts `metafuse serve` over three engines of this script that answer in 20 ms. Its
store is Debian's PostgreSQL behind a relay, or SQLite if PostgreSQL is not installed (then without row 5); its standard error is a
pipe that nobody reads. The engines, the hostile clients and the normal ones are a process each. Measures eight clients with five new
searches per second each, out of step: alone, then beside each attack and beside all of them, with a quiet turn before each. Prints a
table: for each case the 99th percentile as a multiple of that of all quiet turns so far, the searches that failed or lacked an engine,
how far the server's peak of resident memory was above the first quiet turn's, the 99th percentile of /healthz, and the processor time
per hostile request beyond what the quiet server takes.
"""
import asyncio
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))
import usage
from store_servers import Postgres

ARGUMENTS = usage.arguments(__doc__, 1)
METAFUSE = os.path.abspath(ARGUMENTS[0])
SECONDS = float(ARGUMENTS[1]) if len(ARGUMENTS) > 1 else 10
ROWS = ARGUMENTS[2:]
FORK = multiprocessing.get_context("fork")
NORMAL, PER_SECOND = 8, 5
ENGINES = ("one", "two", "three")
PREVIEW = "/v1/templates/d/preview"
JSON = {"Content-Type": "application/json"}
HOSTILE = "127.0.0.2"
MOST = 1 << 20
SITE_PORT = []
# What the script's engines serve besides answers: pages that once took time by the square of their size, and a robots.txt.
SITE = {"/robots.txt": b"User-agent: *\n" + (b"Disallow: /" + b"*" * 500 + b"z\n") * 900,
        "/list": (b"<body><ol>" + b"<li>a" * MOST)[:MOST - 1],
        "/attributes": b"<body><p " + b"".join(b"a%d=1 " % i for i in range(100_000))[:MOST - 20] + b">x",
        "/open": (b"<body>" + b"<b>" * MOST)[:MOST - 1]}


class Engine(asyncio.Protocol):
    """Answers on an event loop: a thread per connection would be slower than the server that is measured."""

    def connection_made(self, transport):
        self.transport, self.read = transport, b""

    def data_received(self, data):
        self.read += data
        while b"\r\n\r\n" in self.read:  # all requests are GET
            head, self.read = self.read.split(b"\r\n\r\n", 1)
            self.answer(urllib.parse.urlsplit(head.split(b" ", 2)[1].decode()))

    def answer(self, url):
        if url.path in SITE:
            return self.send("text/html", SITE[url.path])
        query = urllib.parse.parse_qs(url.query).get("q", [""])[0]
        is_nonsense = query.startswith("nonsense")
        hosts = [] if is_nonsense else [f"{query}-{i}" for i in range(10)]
        body = json.dumps({"r": [{"u": f"http://{name.replace(' ', '')}.example/", "t": name, "c": name} for name in hosts]}).encode()
        wait = 0 if is_nonsense or query.startswith("quick") else 0.02
        asyncio.get_running_loop().call_later(wait, self.send, "application/json", body, 414 if len(query) > 2000 else 200)

    def send(self, content_type, body, status=200):
        self.transport.write(f"HTTP/1.1 {status} Said\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def answer_as_engines(listener):
    async def serve():
        server = await asyncio.get_running_loop().create_server(Engine, sock=listener)
        await server.serve_forever()
    asyncio.run(serve())


class Server:
    def __init__(self, folder, port, store):
        (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
                                       f"  - {{id: all, engine: [{', '.join(ENGINES)}], query: '{{Q}}'}}\n")
        (folder / "engines.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: {name}, engine: json_engine, search_url: \"http://127.0.0.1:{port}/{name}?q={{query}}\", results_query: r, "
            "url_query: u, title_query: t, content_query: c, timeout: 3}\n" for name in ENGINES)
            + f"  - {{name: heavy, engine: xpath, search_url: \"http://127.0.0.1:{port}/attributes?q={{query}}\", results_xpath: //li, "
            "url_xpath: .//a/@href, title_xpath: .//a, timeout: 3}\n")
        (folder / "heavy.yaml").write_text("version: 1\ndomain: heavy\nslots: {Q: {required: true}}\ntemplates:\n"
                                           "  - {id: all, engine: heavy, query: '{Q}'}\n")
        (folder / "serve.yaml").write_text("version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml, heavy.yaml]\ndefault_domain: d\nengines: [engines.yaml]\n"
                                           f"store: \"{store}\"\nstore_secret: secret\n"
                                           # the share of connections that a client has by default, unless it is on this machine
                                           "limits: {max_connections: 60, connections_per_client: 15}\n"
                                           f"fetch_pages: {{allow_private: ['127.0.0.1:{port}']}}\n")
        self.process = subprocess.Popen([METAFUSE, "serve", "--config", str(folder / "serve.yaml")], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.hostile_requests = FORK.Value("L", 0, lock=False)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1])

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self):
        """The peak of resident memory since the last call, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def ask(self, connection, method, path, body=None, headers=JSON):
        connection.request(method, path, body, headers if body is not None else {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def connect(self, address="127.0.0.1"):
        """in: address - the local address: all of 127.0.0.0/8 is this machine"""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=(address, 0))


def preview(text):
    return json.dumps({"query": "x", "text": text})


def attack_1():
    slots = ", ".join(f"S{i}: {{}}" for i in range(1000))
    yield "POST", PREVIEW, preview(f"version: 1\ndomain: d\nslots: {{{slots}}}\ntemplates:\n  - {{id: a, engine: one, query: '{'{X}' * 4000}'}}\n")


def attack_2():
    yield "POST", PREVIEW, preview("version: 1\ndomain: d\n" + "\n" * 160_000 + "templates: []\n")


def attack_7():
    yield "GET", f"/search?q=nonsense{random.random()}&format=json", None


def attack_8():
    yield "GET", f"/search?q={'x' * 3900}{random.random()}&format=json", None


def attack_9():
    yield "POST", "/v1/search", json.dumps({"query": f"hurry {random.random()}", "deadline_ms": 1})


def attack_15():
    yield "POST", "/mcp", json.dumps([{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
        "name": "web_search", "arguments": {"query": f"batch {random.random()}"}}} for i in range(20)])


def attack_18():
    yield "GET", f"/search?q=flight{int(time.time())}&format=json&timeout_limit=1", None


def attack_20():
    yield "GET", "/search?q=cached&format=json", None


def attack_members():
    """An object of 80,000 members, beside a key: neither may be read on a thread that serves all."""
    members = ",".join(f'"{i:x}":0' for i in range(80_000))
    yield "POST", "/search", f'{{"api_key":"x",{members}}}'
    yield "POST", "/v1/search", f'{{"query":"x",{members}}}'


def attack_page(name):
    def attack():
        yield "POST", "/extract", json.dumps({"urls": [f"http://127.0.0.1:{SITE_PORT[0]}/{name}?{random.random()}"]})
    return attack


def attack_parse():
    """An engine of another domain whose answer takes long to parse."""
    yield "GET", f"/search?domain=heavy&q=heavy{random.random()}&format=json", None


def attack_quick():
    """Answers with hits that the engines give at once, so that they look quicker than they are."""
    yield "GET", f"/search?q=quick{random.random()}&format=json&safesearch=2", None


def attack_batches():
    """Forty fusions in one request, each of a thousand documents that are compared with each other."""
    one = {"method": "mc4", "options": {"k": 1e-9}, "lists": [{"name": "a", "results": [str(i) for i in range(1000)]}]}
    yield "POST", "/v1/fuse", json.dumps({"requests": 40 * [one]})


def attack_conditions():
    """Many conditions, on a page beyond everything."""
    conditions = "+".join(f"filetype:a{i}" for i in range(31))
    yield "GET", f"/search?q=conditions{random.random()}+{conditions}&format=json&pageno=1000", None


def attack_sites():
    names = [f"{'x.' * 490}{i}.example" for i in range(100)]
    yield "POST", "/v1/search", json.dumps({"query": "sites", "sites": {"raise": names, "lower": names, "block": names}})


def attack_far_pages():
    """Searches that show nothing, but would be stored with all their lists."""
    yield "POST", "/v1/search", json.dumps({"query": f"far {random.random()}", "limit": 200, "page": 1000})


def leave_unread(server, until):
    """Large answers that nobody reads: explanations, of which most are refused, and long ones."""
    lists = [{"name": "n" * 190 + str(i), "results": [f"{i} {j}" for j in range(1000)]} for i in range(40)]
    bodies = [json.dumps({"method": "borda", "explain": explains, "limit": limit, "lists": lists})
              for explains, limit in ((True, 40_000), (True, 2_500), (False, 40_000))]
    held = []
    while time.time() < until:
        try:
            connection = server.connect(HOSTILE)
            connection.request("POST", "/v1/fuse", bodies[len(held) % len(bodies)], JSON)
            server.hostile_requests.value += 1
            held = held[-20:] + [connection]
            time.sleep(0.2)
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)


def use_new_connections(server, until):
    """A request on each new connection, just when it may have been chosen to make room."""
    held = []
    while time.time() < until:
        try:
            connection = server.connect(HOSTILE)
            connection.request("GET", f"/search?q=new+{random.random()}&format=json")
            server.hostile_requests.value += 1
            held = held[-200:] + [connection]
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)


def abandon_feedback(postgres):
    """Row 5: the database is behind a black hole, and clients that send clicks do not wait for the answer."""
    def attack(server, until):
        _, _, answer = server.ask(server.connect(HOSTILE), "GET", "/search?q=clicked&format=json")
        click = json.dumps({"search_id": json.loads(answer)["fusion"]["search_id"], "kind": "click", "position": 1})
        postgres.relay.mode = "black hole"
        while time.time() < until:
            try:
                connection = server.connect(HOSTILE)
                connection.request("POST", "/v1/feedback", click, JSON)
                server.hostile_requests.value += 1
                connection.close()
            except OSError:
                pass
            time.sleep(0.01)
        postgres.relay.mode = "pass"
    attack.is_here = True  # the relay is a thread of this process
    return attack


def hold_connections(server, until):
    """Row 16: as many idle connections as the server allows."""
    held = []
    while time.time() < until:
        try:
            connection = server.connect(HOSTILE)
            server.ask(connection, "GET", "/healthz")
            server.hostile_requests.value += 1
            held = held[-100:] + [connection]
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)


def repeat(server, until, requests):
    """Sends requests one after another, as fast as they are answered."""
    connection = server.connect(HOSTILE)
    while time.time() < until:
        for method, path, body in requests():
            try:
                server.hostile_requests.value += 1
                server.ask(connection, method, path, body)
            except (OSError, http.client.HTTPException):
                connection = server.connect(HOSTILE)


def normal(server, until, times, lost):
    # In step, eight searches would want all eight connections of each engine at once, every time.
    time.sleep(random.uniform(0, 1 / PER_SECOND))
    connection = server.connect()
    while time.time() < until:
        begin = time.time()
        try:
            status, headers, body = server.ask(connection, "GET", f"/search?q=normal+{random.randrange(10**9)}&format=json")
            if status != 200 or headers["X-Unresponsive-Engines"]:
                lost.append(headers["X-Unresponsive-Engines"] or f"{status} {body[:120].decode(errors='replace')}")
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, http.client.RemoteDisconnected):
                connection = server.connect()  # the server may close an idle connection; clients then try again
                continue
            lost.append(repr(error))
            connection = server.connect()
        times.append(time.time() - begin)
        time.sleep(max(0, 1 / PER_SECOND - (time.time() - begin)))


def look_after_health(server, until, times):
    connection = server.connect()
    while time.time() < until:
        begin = time.time()
        try:
            server.ask(connection, "GET", "/healthz")
        except http.client.RemoteDisconnected:
            connection = server.connect()
            continue
        times.append(time.time() - begin)
        time.sleep(0.02)


def ask_an_engine(until, times):
    """How long an engine takes by itself: where hostile clients keep the engines busy, no server could answer sooner."""
    connection = http.client.HTTPConnection("127.0.0.1", SITE_PORT[0], timeout=30)
    while time.time() < until:
        begin = time.time()
        connection.request("GET", "/one?q=probe")
        connection.getresponse().read()
        times.append(time.time() - begin)
        time.sleep(0.05)


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def attack_at_once(server, until, attacks):
    threads = [threading.Thread(target=attack, args=(server, until)) for attack in attacks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(server, attacks):
    """out: seconds of the normal clients' searches, what they lost, seconds of /healthz, peak memory, processor seconds, hostile requests"""
    until = time.time() + SECONDS
    times, lost, health, engine = [], [], [], []
    processor, requests = server.processor_seconds(), server.hostile_requests.value
    here = [attack for attack in attacks if getattr(attack, "is_here", False)]
    threads = [FORK.Process(target=attack_at_once, args=(server, until, [attack for attack in attacks if attack not in here]))]
    threads += [threading.Thread(target=attack, args=(server, until)) for attack in here]
    threads += [threading.Thread(target=normal, args=(server, until, times, lost)) for _ in range(NORMAL)]
    threads += [threading.Thread(target=look_after_health, args=(server, until, health))]
    threads += [threading.Thread(target=ask_an_engine, args=(until, engine))]
    server.peak_mib()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, lost, health, engine, server.peak_mib(), server.processor_seconds() - processor, server.hostile_requests.value - requests


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    FORK.Process(target=answer_as_engines, args=(listener,), daemon=True).start()
    engines_port = listener.getsockname()[1]
    rows = {1: attack_1, 2: attack_2, 7: attack_7, 8: attack_8, 9: attack_9, 15: attack_15, 18: attack_18, 20: attack_20}
    SITE_PORT.append(engines_port)
    rows |= {"members": attack_members, "parse": attack_parse} | {name: attack_page(name) for name in ("list", "attributes", "open")}
    attacks = {f"row {row}": [lambda server, until, make=make: repeat(server, until, make)] for row, make in rows.items()}
    attacks["row 16"] = [hold_connections]
    rows = {"quick hits": attack_quick, "batches": attack_batches, "conditions": attack_conditions, "sites": attack_sites,
            "far pages": attack_far_pages}
    attacks |= {name: [lambda server, until, make=make: repeat(server, until, make)] for name, make in rows.items()}
    attacks |= {"unread answers": [leave_unread], "new connections": [use_new_connections]}
    with tempfile.TemporaryDirectory() as name:
        folder, postgres = pathlib.Path(name), None
        if Postgres.is_installed():
            folder.chmod(0o755)
            (folder / "pg").mkdir()
            postgres = Postgres(folder / "pg")
            attacks["row 5"] = [abandon_feedback(postgres)]
        else:
            print("without row 5: install the Debian package postgresql")
        everything = list(attacks.items())
        attacks["all"] = [attack for _, one in everything for attack in one]
        for row in ROWS:  # "a+b" is two rows at once, "all-a" is all but one
            if row.startswith("all-"):
                attacks[row] = [attack for name, one in everything if name not in row[4:].split("-") for attack in one]
            elif "+" in row:
                attacks[row] = [attack for name, one in everything if name in row.split("+") for attack in one]
        server = Server(folder, engines_port, postgres.url() if postgres else "store.db")
        try:
            measure(server, [])  # warm-up
            quiet, lost, health, engine, memory, _, _ = measure(server, [])
            print(f"quiet: p99 {1000 * p99(quiet):.0f} ms of {len(quiet)} searches, lost {len(lost)}, peak {memory:.1f} MiB, "
                  f"/healthz p99 {1000 * p99(health):.1f} ms, an engine's own {1000 * p99(engine):.0f} ms\n")
            print("| hostile client | p99, times quiet | searches lost | more memory, MiB | /healthz p99, ms | an engine's own p99, ms | processor ms per request |")
            print("|---|---|---|---|---|---|---|", flush=True)
            for name, threads in attacks.items():
                if ROWS and name not in ROWS:
                    continue
                again, _, _, _, _, quiet_processor, _ = measure(server, [])
                quiet += again
                times, lost, health, engine, peak, processor, requests = measure(server, threads)
                kinds = ", ".join(sorted({str(kind).strip() for kind in lost})[:3])
                print(f"| {name} | {p99(times) / p99(quiet):.2f} | {len(lost)} of {len(times)}{' (' + kinds + ')' if lost else ''} | "
                      f"{peak - memory:.1f} | {1000 * p99(health):.1f} | {1000 * p99(engine):.0f} | "
                      f"{1000 * max(0, processor - quiet_processor) / max(1, requests):.1f} of {requests} |", flush=True)
                time.sleep(2)
            print(f"\nquiet, in all turns: p99 {1000 * p99(quiet):.0f} ms of {len(quiet)} searches")
        finally:
            begin = time.time()
            server.process.send_signal(signal.SIGTERM)
            print(f"SIGTERM: status {server.process.wait(timeout=60)} after {time.time() - begin:.1f} s")
            if postgres:
                postgres.stop(is_hard=True)


main()
