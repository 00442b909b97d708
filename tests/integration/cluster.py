#!/usr/bin/env python3
"""Several servers in folders of their own behave as one: PostgreSQL as the store, Redis as the cache, HAProxy in front.

usage: cluster.py METAFUSE [SECONDS]. Four servers are under load for so many seconds (40) while one is killed and comes back, each
is restarted in turn, PostgreSQL restarts, hangs and comes back, Redis goes away, and templates are saved through different
servers. Every search is answered in full, every acknowledged click is in the store at the end, of a hundred conditional saves
with one entity tag one wins, and a saved text serves on all servers within two seconds. Prints what it counted.
"""
import collections
import concurrent.futures
import hashlib
import http.server
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 40
SERVERS, ENGINES, CLIENTS = 4, 16, 4
KEY = "admin-key"
POSTGRES = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def skip_without_parts():
    missing = [name for name in ("haproxy", "redis-server", "runuser") if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if POSTGRES is None:
        missing.append("postgresql")
    if missing or os.geteuid() != 0:
        print(f"SKIPPED: needs root and the Debian packages haproxy, postgresql, redis-server; missing: {missing}")
        sys.exit(77)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Engine(json_engine.JsonEngine):
    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # a server was killed

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        order = random.Random(url.path + urllib.parse.parse_qs(url.query)["q"][0])
        pages = [f"http://site{i}.example/" for i in order.sample(range(60), 30)]
        self.send(200, json.dumps({"r": [{"u": page, "t": "t", "c": "c"} for page in pages]}).encode())


class Database:
    def __init__(self, folder):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", str(self.folder / "data"), "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        self.start()
        self.url = f"postgresql:///postgres?host={self.folder}&user=tester"

    def run(self, program, *words):
        subprocess.run(["runuser", "-u", "postgres", "--", str(POSTGRES / program), *words], check=True,
                       stdout=subprocess.DEVNULL, cwd=self.folder)

    def start(self):
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), "-o",
                 f"-k {self.folder} -c listen_addresses= -c fsync=off", "start")

    def stop(self):
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "fast", "stop")

    def processes(self):
        first = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split()
        return [first, *map(int, children)]


class Server:
    def __init__(self, folder, number, port, database, redis, engines):
        self.folder = folder / f"server{number}"
        self.folder.mkdir()
        self.port = port
        self.base = f"http://127.0.0.1:{port}"
        (self.folder / "t.yaml").write_text(templates(0))
        (self.folder / "models").mkdir()
        (self.folder / "engines.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: e{i}, search_url: \"http://127.0.0.1:{engines}/{i}?q={{query}}\", timeout: 10, {json_engine.DEFINITION}}}\n"
            for i in range(ENGINES)))
        (self.folder / "serve.yaml").write_text(
            f"version: 1\nlisten: 127.0.0.1:{port}\ntemplates: [t.yaml]\nengines: [engines.yaml]\nmodels: models\n"
            f"store: \"{database.url}\"\nstore_secret: ../secret\nserver_names: [\"127.0.0.1\"]\n"
            f"cache: {{redis: \"redis://127.0.0.1:{redis}/0\"}}\nlimits: {{requests_per_second: 0}}\ndeadline: 10\n"
            "learned_wait: {enabled: false}\nlearning: {clicks_per_address: 1000000}\n"
            f"keys:\n  - {{name: admin, sha256: {hashlib.sha256(KEY.encode()).hexdigest()}, roles: [admin]}}\n")
        self.start()

    def start(self):
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen([METAFUSE, "serve", "--config", "serve.yaml"], cwd=self.folder,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert self.process.stdout.readline().startswith("http"), (self.folder / "log").read_text()[-2000:]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def restart(self):
        self.process.terminate()
        assert self.process.wait(30) == 0
        self.start()


def templates(number):
    return (f"version: 1\ndomain: d\ndescription: text {number}\nslots: {{Q: {{required: true}}}}\ntemplates:\n"
            f"  - {{id: all, engine: [{', '.join(f'e{i}' for i in range(ENGINES))}], query: '{{Q}}'}}\n")


def ask(base, path, body=None, headers=None, method=None):
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


class Client(threading.Thread):
    """Searches, and clicks on every second search through the proxy."""

    numbers = itertools.count()

    def __init__(self, base, ends):
        super().__init__()
        self.base, self.ends = base, ends
        self.counts = collections.Counter()
        self.clicked = []
        self.wrong = []

    def run(self):
        while not self.ends.is_set():
            number = next(self.numbers)
            status, _, body = ask(self.base, f"/search?q=query+{number}&format=json")
            answer = json.loads(body) if status == 200 else {}
            failures = {reason for _, reason in answer.get("unresponsive_engines", [])}
            if status != 200 or not answer["results"] or failures - {"timeout"}:  # engines share this machine
                self.wrong.append((number, status, failures, body[:300]))
                continue
            self.counts["searches"] += 1
            self.counts["searches without a list that came too late"] += not failures
            search = answer["fusion"].get("search_id")
            if number % 2 and search:
                time.sleep(0.3)  # nobody clicks before reading; searches are stored behind their answers
                status, _, _ = ask(self.base, "/v1/feedback", {"search_id": search, "position": 1, "kind": "click"})
                self.counts[f"clicks answered {status}"] += 1
                if status == 200:
                    self.clicked.append(search[:32])


def proxy_config(folder, port, servers):
    """As packaging/haproxy.cfg, with servers that are named here."""
    (folder / "haproxy.cfg").write_text(f"""
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3
  retry-on conn-failure empty-response 503
frontend search
  bind 127.0.0.1:{port}
  http-request disable-l7-retry if !METH_GET
  default_backend metafuse
backend metafuse
  option httpchk GET /readyz
  http-check send hdr Host localhost
""" + "".join(f"  server s{i} 127.0.0.1:{one.port} check inter 200ms fall 1 rise 1\n" for i, one in enumerate(servers)))
    return folder / "haproxy.cfg"


def etag_of(server):
    status, headers, body = ask(server.base, "/v1/templates/d")
    assert status == 200, (status, body)
    return headers["ETag"], body.decode()


def save(server, etag, text):
    return ask(server.base, "/v1/templates/d", text, {"Authorization": f"Bearer {KEY}", "If-Match": etag,
                                                      "Content-Type": "application/yaml"}, "PUT")[0]


def wait_until_all(servers, text, what):
    begin = time.monotonic()
    while any(etag_of(server)[1] != text for server in servers):
        assert time.monotonic() - begin < 10, f"{what}: not on all servers after ten seconds"
        time.sleep(0.05)
    return time.monotonic() - begin


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
        self.engine.daemon_threads = True
        threading.Thread(target=self.engine.serve_forever, daemon=True).start()
        self.database = Database(folder)
        self.redis_port = free_port()
        self.start_redis()
        self.servers = [Server(folder, i, free_port(), self.database, self.redis_port, self.engine.server_address[1])
                        for i in range(SERVERS)]
        port = free_port()
        self.proxy = subprocess.Popen([shutil.which("haproxy", path="/usr/sbin:" + os.environ["PATH"]), "-f",
                                       str(proxy_config(folder, port, self.servers))], stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        self.saved = 0

    def start_redis(self):
        self.redis = subprocess.Popen(["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", ""],
                                      stdout=subprocess.DEVNULL, cwd=self.folder)

    def save_templates(self):
        self.saved += 1
        text = templates(self.saved)
        writer = self.servers[self.saved % SERVERS]
        assert save(writer, etag_of(writer)[0], text) == 200
        return wait_until_all(self.servers, text, "a saved text")

    def save_a_hundred_at_once(self):
        etags = {etag_of(server)[0] for server in self.servers}
        assert len(etags) == 1, etags
        texts = [templates(f"{self.saved}-{i}") for i in range(100)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            said = list(pool.map(lambda i: save(self.servers[i % SERVERS], next(iter(etags)), texts[i]), range(100)))
        counts = collections.Counter(said)
        while counts[503]:  # another save of the same server was under way: tried again with the same entity tag
            again = [i for i, status in enumerate(said) if status == 503]
            for i in again:
                said[i] = save(self.servers[i % SERVERS], next(iter(etags)), texts[i])
            counts = collections.Counter(said)
        assert counts[200] == 1 and counts[412] == 99, counts
        wait_until_all(self.servers, texts[said.index(200)], "the text that won")

    def restart_database(self):
        self.database.stop()
        time.sleep(1)
        self.database.start()

    def hang_database(self):
        processes = self.database.processes()
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        time.sleep(3)
        for process in processes:
            os.kill(process, signal.SIGCONT)

    def lose_redis(self):
        self.redis.kill()
        self.redis.wait()
        time.sleep(2)
        self.start_redis()

    def kill_one(self):
        random.choice(self.servers).kill()

    def restart_each(self):
        for server in self.servers:
            server.restart()
            time.sleep(0.5)

    def stop(self):
        self.proxy.terminate()
        for server in self.servers:
            server.process.terminate()
        for server in self.servers:
            assert server.process.wait(30) == 0
        lines = subprocess.run([METAFUSE, "store", "export", "--store", self.database.url], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        self.database.stop()
        self.redis.kill()
        return [json.loads(line) for line in lines]


def main():
    skip_without_parts()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        cluster = Cluster(pathlib.Path(name))
        ends = threading.Event()
        time.sleep(1)  # the proxy's first checks
        clients = [Client(cluster.base, ends) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        episodes = [cluster.save_templates, cluster.kill_one, cluster.restart_each, cluster.save_a_hundred_at_once,
                    cluster.restart_database, cluster.lose_redis, cluster.hang_database, cluster.save_templates]
        done = collections.Counter()
        slowest = 0.0
        stop_at = time.monotonic() + SECONDS
        for episode in itertools.cycle(episodes):
            if time.monotonic() > stop_at and sum(done.values()) >= len(episodes):
                break
            slowest = max(slowest, episode() or 0.0)
            done[episode.__name__] += 1
            time.sleep(1.5)  # what was away is found again
        ends.set()
        for client in clients:
            client.join()
        rows = cluster.stop()
    counts = sum((client.counts for client in clients), collections.Counter())
    wrong = [one for client in clients for one in client.wrong]
    clicks = {row["search"][:32] for row in rows if row["kind"] == "click"}
    lost = [one for client in clients for one in client.clicked if one not in clicks]
    print(f"episodes {dict(done)}; {dict(counts)}; searches that failed {len(wrong)}; acknowledged clicks lost {len(lost)}; "
          f"a saved text was on all servers after {slowest:.2f} s at most")
    assert not wrong, wrong[:5]
    assert not lost, lost[:5]
    assert slowest < 2, slowest


main()
