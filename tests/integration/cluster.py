#!/usr/bin/env python3
"""Several servers in separate folders behave as one: PostgreSQL with a replica as the store, Redis as the cache, HAProxy in front.

usage: cluster.py METAFUSE [--minutes N] [--other METAFUSE] [--seed N]. Four servers with clocks up to 90 seconds apart are under
load for this long (default: 40 seconds) while episodes, one after another and several at once, take parts away: kill -9, a rolling
restart (to the other program and back), PostgreSQL restarted, hung, failed over to its replica and gone for a while, Redis gone,
one server cut off from the store, templates saved and champions switched through different servers. Every search must be answered
completely, by templates of the one version that the answer names and by a known model; every acknowledged click must be in the
store at the end; of a hundred conditional saves with the same entity tag one must win; a change must serve on all servers within
two seconds; no key may exceed its quota. Prints what it counted.
"""
import argparse
import collections
import concurrent.futures
import http.server
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import cluster_parts as parts
from cluster_parts import ask

SERVERS, CLIENTS = 4, 4
CLOCKS = [0, 45, -45, 0]  # seconds ahead of the database's clock
CUT_OFF = 3               # number of the server that reaches the store through relays
MODELS = {parts.digest(text)[:12]: text for text in map(parts.model, (1, 2))}


class Client(threading.Thread):
    """Searches, and clicks on every second search, through the proxy; every fourth search is metered."""

    numbers = itertools.count()

    def __init__(self, cluster, ends):
        super().__init__()
        self.cluster, self.ends = cluster, ends
        self.counts = collections.Counter()
        self.clicked = []
        self.wrong = []

    def problem_of(self, answer):
        """What is wrong with an answer: a failed engine, or templates or a model that nobody saved."""
        failures = {reason for _, reason in answer.get("unresponsive_engines", [])}
        if not answer["results"] or failures - {"timeout"}:  # a timeout is allowed: the engines share this machine
            return f"failures {failures}"
        seen = {result["content"] for result in answer["results"]}
        named = self.cluster.texts.get(answer["fusion"]["templates"])
        if seen != {f"v{named}"}:
            return f"asked by templates {seen}, named {named}"
        if answer["fusion"]["version"] not in MODELS:
            return f"model {answer['fusion']['version']}"
        self.counts["searches without a list that came too late"] += not failures
        return None

    def run(self):
        while not self.ends.is_set():
            number = next(self.numbers)
            headers = {"Authorization": f"Bearer {parts.METERED_KEY}"} if number % 4 == 0 else {}
            status, _, body = ask(self.cluster.base, f"/search?q=query+{number}&format=json", headers=headers)
            answer = json.loads(body) if status == 200 else {}
            problem = self.problem_of(answer) if status == 200 else body[:300]
            if problem:
                self.wrong.append((number, status, problem))
                continue
            self.counts["searches"] += 1
            self.counts["metered searches"] += bool(headers)
            search = answer["fusion"].get("search_id")
            if number % 2 and search:
                time.sleep(0.3)  # nobody clicks before reading; searches are stored after their answers
                status, _, _ = ask(self.cluster.base, "/v1/feedback", {"search_id": search, "position": 1, "kind": "click"})
                self.counts[f"clicks answered {status}"] += 1
                if status == 200:
                    self.clicked.append(search[:32])


def etag_of(server):
    status, headers, body = ask(server.base, "/v1/templates/d")
    assert status == 200, (status, body)
    return headers["ETag"], body.decode()


def save(server, etag, text):
    return ask(server.base, "/v1/templates/d", text, {"Authorization": f"Bearer {parts.KEY}", "If-Match": etag,
                                                      "Content-Type": "application/yaml"}, "PUT")[0]


def activate(server, version):
    return ask(server.base, "/v1/models/d/activate", {"version": version}, {"Authorization": f"Bearer {parts.KEY}"})[0]


class Cluster:
    def __init__(self, folder, program, other, away_seconds):
        self.folder, self.program, self.other, self.away_seconds = folder, program, other, away_seconds
        self.texts = {parts.digest(parts.templates(0))[:12]: 0}  # the texts that may serve: number by digest
        self.saves_refused = 0
        self.slowest = 0.0
        self.engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), parts.Engine)
        self.engine.daemon_threads = True
        threading.Thread(target=self.engine.serve_forever, daemon=True).start()
        self.database = parts.Database(folder)
        self.redis_port = parts.free_port()
        self.redis = parts.start_redis(folder, self.redis_port)
        self.relays = [parts.Relay(port) for port in self.database.ports]
        self.servers = []
        for i in range(SERVERS):
            url = self.database.url([relay.port for relay in self.relays] if i == CUT_OFF else None)
            self.servers.append(parts.Server(folder, i, program, url, self.redis_port, self.engine.server_address[1], CLOCKS[i]))
        self.seed_first()
        for server in self.servers:
            server.start()
        self.proxy, self.base = parts.start_proxy(folder, self.servers)
        self.wait_until_all(lambda server: sorted(MODELS)[0] in self.ready(server), "the first server's model")
        self.wait_until_all(lambda server: abs(self.metric(server, "clock_ahead_seconds") - server.clock_ahead) < 5, "their clocks")

    def seed_first(self):
        """Puts keys and models into the first server's folder only; the other servers must get them from the store."""
        first = self.servers[0].folder
        (first / "keys.yaml").write_text("keys:\n" + "".join(
            f"  - {{name: {name}, sha256: {parts.digest(key)}, roles: [search], quota_per_day: {quota}}}\n"
            for name, key, quota in (("metered", parts.METERED_KEY, parts.METERED_QUOTA), ("small", parts.SMALL_KEY, parts.SMALL_QUOTA))))
        champion, challenger = sorted(MODELS)
        folder = first / "models/versions/d"
        folder.mkdir(parents=True)
        for version, text in MODELS.items():
            (folder / f"{version}.json").write_text(text)
        (first / "models/d.json").write_text(MODELS[champion])
        (folder / "state.json").write_text(json.dumps({
            "versions": [{"version": version, "learner": "rankboost", "origin": "file", "at": 1} for version in MODELS],
            "challenger": challenger, "history": [], "is_promotion_paused": False, "tests": 0, "tested": ""}))

    @staticmethod
    def ready(server):
        return ask(server.base, "/readyz")[2].decode()

    @staticmethod
    def metric(server, name):
        found = re.search(rf"^metafuse_{name} (\S+)$", ask(server.base, "/metrics")[2].decode(), re.M)
        return float(found[1]) if found else float("nan")

    def wait_until_all(self, is_there, what):
        begin = time.monotonic()
        while not all(is_there(server) for server in self.servers):
            assert time.monotonic() - begin < 15, f"{what}: not on all servers after 15 seconds"
            time.sleep(0.05)
        return time.monotonic() - begin

    def new_text(self):
        number = len(self.texts)
        text = parts.templates(number)
        self.texts[parts.digest(text)[:12]] = number
        return text

    # Episodes. They make changes only while every part is there.

    def save_templates(self):
        text = self.new_text()
        writer = random.choice(self.servers)
        end = time.monotonic() + 15
        while (status := save(writer, etag_of(writer)[0], text)) != 200:
            # 503: the store did not answer within half a second, which happens when this machine has
            # other work
            assert status == 503 and time.monotonic() < end, status
            self.saves_refused += 1
            time.sleep(0.2)
            if etag_of(writer)[1] == text:
                break  # the save had succeeded all the same
        self.slowest = max(self.slowest, self.wait_until_all(lambda server: etag_of(server)[1] == text, "a saved text"))

    def save_a_hundred_at_once(self):
        etags = {etag_of(server)[0] for server in self.servers}
        assert len(etags) == 1, etags
        etag = next(iter(etags))
        texts = [self.new_text() for _ in range(100)]
        said = [503] * 100
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            while 503 in said:  # another save on the same server was in progress; retried with the same entity tag
                again = [i for i, status in enumerate(said) if status == 503]
                for i, status in zip(again, pool.map(lambda i: save(self.servers[i % SERVERS], etag, texts[i]), again)):
                    said[i] = status
        counts = collections.Counter(said)
        assert counts[200] == 1 and counts[412] == 99, counts
        won = texts[said.index(200)]
        self.wait_until_all(lambda server: etag_of(server)[1] == won, "the text that won")

    def switch_champions(self):
        """Asks all servers at once to switch to different champions; afterwards all serve the same one of these."""
        versions = sorted(MODELS)
        with concurrent.futures.ThreadPoolExecutor(SERVERS) as pool:
            said = list(pool.map(lambda i: activate(self.servers[i], versions[i % 2]), range(SERVERS)))
        assert 200 in said and set(said) <= {200, 503}, said

        def champions():
            return {re.search(r"model (\w+)", self.ready(server))[1] for server in self.servers}

        begin = time.monotonic()
        while len(seen := champions()) > 1:
            assert time.monotonic() - begin < 15, f"two champions: {seen}"
            time.sleep(0.05)
        self.slowest = max(self.slowest, time.monotonic() - begin)
        stored = self.database.ask("SELECT substr(digest, 1, 12) FROM shared_files WHERE name = 'models/d.json'")
        assert {stored} == seen, (stored, seen)

    def kill_one(self):
        random.choice(self.servers).kill()

    def restart_each(self):
        program = self.other if self.servers[0].program == self.program else self.program
        for server in self.servers:
            server.restart(program)
            time.sleep(0.5)

    def restart_database(self):
        self.database.stop(self.database.primary)
        time.sleep(1)
        self.database.start(self.database.primary)

    def fail_over(self):
        self.database.fail_over()

    def hang_database(self):
        parts.stopped(self.database.processes(), 3)

    def lose_database(self):
        self.database.stop_all()
        time.sleep(self.away_seconds)
        self.database.start_all()

    def lose_redis(self):
        self.redis.kill()
        self.redis.wait()
        time.sleep(2)
        self.redis = parts.start_redis(self.folder, self.redis_port)

    def cut_one_off(self):
        for relay in self.relays:
            relay.is_cut = True
        time.sleep(min(self.away_seconds, 20))
        for relay in self.relays:
            relay.is_cut = False

    def several_at_once(self):
        database = random.choice([self.restart_database, self.fail_over, self.hang_database, self.lose_database])
        others = [random.choice([self.lose_redis, self.cut_one_off]), random.choice([self.kill_one, self.restart_each])]
        threads = [threading.Thread(target=episode) for episode in [database, *others]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def rest(self):
        """Waits until everything has recovered: every server's store works, and all servers serve the same."""
        self.wait_until_all(lambda server: "does not answer" not in self.ready(server), "the store")
        self.wait_until_all(lambda server: self.ready(server) == self.ready(self.servers[0]), "the same versions")
        self.wait_until_all(lambda _: sum(self.metric(server, "has_duty") for server in self.servers) == 1, "the duty of one")
        time.sleep(1)

    def small_quota_left(self):
        """How many searches a quota of 40 allows when four servers receive 200 at once."""
        headers = {"Authorization": f"Bearer {parts.SMALL_KEY}"}
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            said = list(pool.map(lambda i: ask(self.servers[i % SERVERS].base, f"/search?q=small+{i}&format=json", headers=headers)[0],
                                 range(200)))
        assert set(said) <= {200, 429}, collections.Counter(said)
        return said.count(200)

    def kill(self):
        """After a failure: kills all processes and prints the servers' logs on standard error."""
        for process in [self.proxy, self.redis, *(server.process for server in self.servers)]:
            process.kill()
        for node in (0, 1):
            subprocess.run(["runuser", "-u", "postgres", "--", str(parts.POSTGRES / "pg_ctl"), "-D", self.database.data(node), "-m",
                            "immediate", "stop"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        for server in self.servers:
            lines = (server.folder / "log").read_text().splitlines()
            print(server.folder.name, *[line for line in lines if '"event":"request"' not in line][-20:], sep="\n", file=sys.stderr)

    def stop(self):
        self.proxy.terminate()
        for server in self.servers:
            server.end()
        lines = subprocess.run([self.program, "store", "export", "--store", self.database.url()], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        used = int(self.database.ask("SELECT coalesce(sum(amount), 0) FROM key_usage WHERE api_key = 'metered'"))
        self.database.stop_all()
        self.redis.kill()
        return [json.loads(line) for line in lines], used


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--minutes", type=float, default=2 / 3)
    parser.add_argument("--other", type=os.path.abspath, help="the program that a rolling restart changes to; the same by default")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def run_episodes(cluster, seconds):
    """Runs each episode once, however long that takes, and then again in random order until the time is over."""
    episodes = [cluster.save_templates, cluster.kill_one, cluster.restart_each, cluster.save_a_hundred_at_once,
                cluster.switch_champions, cluster.restart_database, cluster.fail_over, cluster.lose_redis, cluster.hang_database,
                cluster.cut_one_off, cluster.lose_database, cluster.several_at_once]
    done = collections.Counter()
    began = time.monotonic()
    while not done or time.monotonic() < began + seconds:
        for episode in episodes:
            if time.monotonic() > began + seconds and sum(done.values()) >= len(episodes):
                break
            episode()
            cluster.rest()
            done[episode.__name__] += 1
        random.shuffle(episodes)
    return done, time.monotonic() - began


def main():
    options = arguments()
    random.seed(options.seed)
    parts.skip_without_parts()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        cluster = Cluster(pathlib.Path(name), options.program, options.other or options.program, 60 if options.minutes >= 5 else 4)
        ends = threading.Event()
        time.sleep(1)  # for the proxy's first checks
        clients = [Client(cluster, ends) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            done, took = run_episodes(cluster, options.minutes * 60)
        except BaseException:
            cluster.kill()
            raise
        finally:
            ends.set()
            for client in clients:
                client.join()
        small = cluster.small_quota_left()
        rows, used = cluster.stop()
    counts = sum((client.counts for client in clients), collections.Counter())
    wrong = [one for client in clients for one in client.wrong]
    clicks = {row["search"][:32] for row in rows if row["kind"] == "click"}
    lost = [one for client in clients for one in client.clicked if one not in clicks]
    metered = counts["metered searches"] * parts.ENGINES
    starts = sum(server.starts for server in cluster.servers)
    print(f"{took / 60:.1f} minutes, clocks {CLOCKS}; episodes {dict(done)}; {dict(counts)}; "
          f"searches that failed {len(wrong)}; acknowledged clicks lost {len(lost)}; a change was on all servers after "
          f"{cluster.slowest:.2f} s at most, {cluster.saves_refused} saves refused with 503 and sent again; quota of 40 searches let "
          f"{small} through; {metered} metered queries, {used} counted in blocks by {starts} starts")
    assert not wrong, wrong[:5]
    assert not lost, lost[:5]
    assert cluster.slowest < 2, cluster.slowest
    assert small <= parts.SMALL_QUOTA // parts.ENGINES, small
    assert metered <= used, "less was counted than was used"
    # a process that dies loses at most one block, which exceeds what it used by at most 1/4096 of the quota
    assert used <= 2 * metered + starts * (parts.METERED_QUOTA // 4096), "more was lost than blocks may hold"


main()
