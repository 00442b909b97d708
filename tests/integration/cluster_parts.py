"""The parts of a cluster on one machine: engines, a PostgreSQL with a streaming replica, a relay that can be cut, servers in
separate folders, and HAProxy. A module for cluster.py and bench/cluster_cost.py, not a program."""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import json_engine

KEY = "admin-key"
METERED_KEY = "metered-key"
SMALL_KEY = "small-key"
METERED_QUOTA = 6_400_000  # a process takes 1,562 of it at first, and at most 100,000 at once
SMALL_QUOTA = 640          # 40 searches of 16 engines
ENGINES = 16
SBIN = os.environ["PATH"] + ":/usr/sbin"
POSTGRES = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
SHIFTED_CLOCK = pathlib.Path(__file__).resolve().parents[1] / "support" / "shifted_clock.cpp"


def skip_without_parts():
    missing = [name for name in ("haproxy", "redis-server", "runuser") if shutil.which(name, path=SBIN) is None]
    if POSTGRES is None:
        missing.append("postgresql")
    if missing or os.geteuid() != 0:
        print(f"SKIPPED: needs root and the Debian packages haproxy, postgresql, redis-server; missing: {missing}")
        sys.exit(77)


def shifted_clock(folder):
    """The library that moves a program's clock, built in a folder."""
    library = folder / "shifted_clock.so"
    if not library.exists():
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, SHIFTED_CLOCK], check=True)
    return str(library)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def templates(number):
    """A domain whose queries contain a number, which the engines write into every result."""
    return (f"version: 1\ndomain: d\ndescription: text {number}\nslots: {{Q: {{required: true}}}}\ntemplates:\n"
            f"  - {{id: all, engine: [{', '.join(f'e{i}' for i in range(ENGINES))}], query: '{{Q}} v{number}'}}\n")


def model(alpha):
    features = [{"name": f"all@e{i}", "kind": "rank", "depth": 30} for i in range(ENGINES)]
    stumps = [{"feature": i, "rank": 5, "q_default": 0, "alpha": alpha + i / 100} for i in range(ENGINES)]
    return json.dumps({"format": "metafuse-model", "version": 1, "learner": "rankboost", "features": features,
                       "unranked": "absent", "body": {"weak_rankings": stumps}, "training": {}})


class Engine(json_engine.JsonEngine):
    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # a server was killed

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = urllib.parse.parse_qs(url.query)["q"][0]
        version = re.search(r"v\d+", query)
        order = random.Random(url.path + query)
        pages = [f"http://site{i}.example/" for i in order.sample(range(60), 30)]
        self.send(200, json.dumps({"r": [{"u": page, "t": "t", "c": version[0] if version else "c"} for page in pages]}).encode())


class Database:
    """A primary and a standby that follows it synchronously, so that committed data are on both."""

    def __init__(self, folder, is_replicated=True):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres")
        self.ports = [free_port(), free_port()]
        self.is_replicated = is_replicated
        self.primary = 0
        self.run("initdb", "-D", self.data(0), "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        self.start(0)
        if is_replicated:
            self.make_standby()

    def data(self, node):
        return str(self.folder / f"data{node}")

    def url(self, ports=None):
        ports = ports or self.ports[:2 if self.is_replicated else 1]
        return f"postgresql://tester@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres?target_session_attrs=read-write"

    def run(self, program, *words):
        subprocess.run(["runuser", "-u", "postgres", "--", str(POSTGRES / program), *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    def start(self, node):
        self.run("pg_ctl", "-D", self.data(node), "-w", "-l", str(self.folder / f"log{node}"), "-o",
                 f"-k {self.folder} -p {self.ports[node]} -c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=32MB", "start")

    def stop(self, node, mode="fast"):
        self.run("pg_ctl", "-D", self.data(node), "-w", "-m", mode, "stop")

    def ask(self, sql, node=None):
        return subprocess.run(["psql", "-qAt", "-h", "127.0.0.1", "-p", str(self.ports[self.primary if node is None else node]), "-U",
                               "tester", "-d", "postgres", "-c", sql], check=True, capture_output=True, text=True).stdout.strip()

    def wait_for_commits_on_both(self, is_wanted):
        self.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if is_wanted else ''}'")
        self.ask("SELECT pg_reload_conf()")

    def make_standby(self):
        """Copies the primary to the other node, which follows it from then on."""
        node = 1 - self.primary
        shutil.rmtree(self.data(node), ignore_errors=True)
        self.run("pg_basebackup", "-D", self.data(node), "-h", "127.0.0.1", "-p", str(self.ports[self.primary]), "-U", "tester",
                 "-R", "-X", "stream", "-c", "fast")
        self.start(node)
        for _ in range(200):
            if self.ask("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1":
                break
            time.sleep(0.05)
        self.wait_for_commits_on_both(True)

    def fail_over(self):
        """Kills the primary and promotes the standby; the old primary returns as the new standby."""
        old = self.primary
        self.stop(old, "immediate")
        self.primary = 1 - old
        self.run("pg_ctl", "-D", self.data(self.primary), "-w", "promote")
        self.wait_for_commits_on_both(False)
        self.make_standby()

    def stop_all(self):
        self.stop(self.primary)
        if self.is_replicated:
            self.stop(1 - self.primary)

    def start_all(self):
        if self.is_replicated:
            self.start(1 - self.primary)
        self.start(self.primary)

    def processes(self):
        first = int((pathlib.Path(self.data(self.primary)) / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split()
        return [first, *map(int, children)]


class Relay(threading.Thread):
    """Passes bytes between its port and another one until it is cut; then nothing passes, but no connection is closed."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_cut = False
        self.others = {}
        self.start()

    def drop(self, one):
        for end in (one, self.others.pop(one, None)):
            if end is not None:
                self.others.pop(end, None)
                end.close()

    def run(self):
        while True:
            if self.is_cut:
                time.sleep(0.05)
                continue
            ready, _, _ = select.select([self.listener, *self.others], [], [], 0.2)
            for one in ready:
                if self.is_cut:
                    break
                if one is self.listener:
                    near, _ = self.listener.accept()
                    try:
                        far = socket.create_connection(("127.0.0.1", self.target))
                        self.others[near], self.others[far] = far, near
                    except OSError:
                        near.close()
                elif one in self.others:
                    try:
                        data = one.recv(65536)
                        if data:
                            self.others[one].sendall(data)
                        else:
                            self.drop(one)
                    except OSError:
                        self.drop(one)


class Server:
    """One `metafuse serve` in a folder of its own."""

    def __init__(self, folder, number, program, database_url, redis, engines, clock_ahead=0, extra=""):
        self.folder = folder / f"server{number}"
        self.folder.mkdir()
        self.program = program
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self.clock_ahead = clock_ahead
        self.environment = dict(os.environ)
        if clock_ahead:
            self.environment |= {"LD_PRELOAD": shifted_clock(folder), "CLOCK_AHEAD": str(clock_ahead)}
        (self.folder / "t.yaml").write_text(templates(0))
        (self.folder / "models").mkdir()
        (self.folder / "engines.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: e{i}, search_url: \"http://127.0.0.1:{engines}/{i}?q={{query}}\", timeout: 10, {json_engine.DEFINITION}}}\n"
            for i in range(ENGINES)))
        cache = f"cache: {{redis: \"redis://127.0.0.1:{redis}/0\"}}\n" if redis else ""
        (self.folder / "serve.yaml").write_text(
            f"version: 1\nlisten: 127.0.0.1:{self.port}\ntemplates: [t.yaml]\nengines: [engines.yaml]\nmodels: models\n"
            f"store: \"{database_url}\"\nstore_secret: ../secret\nserver_names: [\"127.0.0.1\"]\n{cache}"
            "limits: {requests_per_second: 0}\ndeadline: 10\nkeys_file: keys.yaml\n"
            f"learned_wait: {{enabled: false}}\nlearning: {{clicks_per_address: 1000000}}\n{extra}"
            f"keys:\n  - {{name: admin, sha256: {digest(KEY)}, roles: [admin]}}\n")

    def start(self):
        """Starts the server as systemd would: tries again until it runs, because the database may be away."""
        self.starts += 1
        for _ in range(200):
            self.log = open(self.folder / "log", "ab")
            self.process = subprocess.Popen([self.program, "serve", "--config", "serve.yaml"], cwd=self.folder, env=self.environment,
                                            stdout=subprocess.PIPE, stderr=self.log, text=True)
            if self.process.stdout.readline().startswith("http"):
                return
            self.process.wait()
            time.sleep(0.5)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def end(self):
        self.process.terminate()
        assert self.process.wait(30) == 0

    def restart(self, program=None):
        self.end()
        self.program = program or self.program
        self.start()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(base, path, body=None, headers=None, method=None):
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


def proxy_config(folder, port, servers):
    """The configuration in packaging/haproxy.cfg, with the given servers."""
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


def start_proxy(folder, servers):
    port = free_port()
    process = subprocess.Popen([shutil.which("haproxy", path=SBIN), "-f", str(proxy_config(folder, port, servers))],
                               stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return process, f"http://127.0.0.1:{port}"
        time.sleep(0.05)
    raise AssertionError("HAProxy does not listen within 30 seconds")


def start_redis(folder, port):
    return subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""], stdout=subprocess.DEVNULL,
                            cwd=folder)


def stopped(processes, seconds):
    """Halts processes for a while, except those that have ended by themselves."""
    for sent in (signal.SIGSTOP, signal.SIGCONT):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, sent)
        time.sleep(seconds if sent == signal.SIGSTOP else 0)
