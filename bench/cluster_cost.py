#!/usr/bin/env python3
"""The processor time that a cluster of servers costs, and whether a queueing model predicts its throughput.

usage: bench/cluster_cost.py BUILD_FOLDER [--rounds N] [--rate SEARCHES_PER_SECOND] [--seconds N]
There are 16 local nginx engines; every search is new and is stored. First, 1, 2 and 4 servers with one PostgreSQL store take turns
under a fixed rate, for as many rounds as --rounds says; the result is the median over the rounds, in processor milliseconds per
search, which other load on the machine changes little. One server with an SQLite store is measured for comparison. Then the idle
cost is measured: what the servers spend on listening, polling and holding the duty when nothing is asked. Last, 1 to 16 clients
send one search after another to 4 servers, and the searches per second are printed beside those of the model: exact mean value
analysis of one station of several cores, with the processor time of everything that a search needs, and a delay.
Needs root (for runuser) and Debian's nginx-light and postgresql.
"""
import argparse
import contextlib
import http.client
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/integration"))
import cluster_parts as parts  # noqa: E402
import local_service  # noqa: E402

TARGET = "/search?format=json&q={n}"
IDLE_SECONDS = 20


def precise_seconds(pids):
    """Processor seconds of all live threads of the processes, by the scheduler's count, which is in nanoseconds."""
    total = 0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


class Set:
    """Servers with a common store, and everything else that a search needs."""

    def __init__(self, program, folder, nginx, servers, store):
        self.nginx = nginx
        self.folder = folder / f"set-{time.monotonic_ns()}"
        self.folder.mkdir()
        self.folder.chmod(0o755)
        self.database = parts.Database(self.folder, is_replicated=False) if store == "postgresql" else None
        self.ports, self.processes = [], []
        for i in range(servers):
            home = self.folder / f"server{i}"
            home.mkdir()
            shutil.copytree(folder / "templates", home / "templates")
            shutil.copy(folder / "engines.yaml", home)
            (home / "models").mkdir()
            where = self.database.url() if self.database else "store.db"
            (home / "serve.yaml").write_text(
                f"version: 1\nlisten: 127.0.0.1:0\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\nmodels: models\n"
                f"store: \"{where}\"\nstore_secret: ../secret\nlimits: {{requests_per_second: 0, max_queue: 1000, queue_seconds: 5}}\ncache: {{entries: 0}}\n")
            process = subprocess.Popen([program, "serve", "--config", "serve.yaml"], cwd=home, stdout=subprocess.PIPE,
                                       stderr=open(home / "log", "w"), text=True)
            self.processes.append(process)
            self.ports.append(int(process.stdout.readline().rsplit(":", 1)[1]))

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        if self.database:
            self.database.stop(0)
        shutil.rmtree(self.folder)

    def server_seconds(self):
        return precise_seconds([process.pid for process in self.processes])

    def database_seconds(self):
        return precise_seconds(self.database.processes()) if self.database else 0.0

    def engine_seconds(self):
        return precise_seconds(local_service.with_children(self.nginx))

    def seconds(self):
        return self.server_seconds(), self.database_seconds(), self.engine_seconds()


@contextlib.contextmanager
def running(*arguments):
    one = Set(*arguments)
    try:
        yield one
    finally:
        one.end()


def loaded(one, build, rate, seconds):
    """Processor milliseconds per search of servers, database and engines, at a fixed rate over all servers together."""
    share = rate / len(one.ports)

    def run(length):
        clients = [local_service.start_load(build, port, share, length, 64, TARGET) for port in one.ports]
        return [local_service.outcome(client) for client in clients]

    run(2)
    before = one.seconds()
    got = run(seconds)
    time.sleep(1)  # the searches that are stored after their answers
    after = one.seconds()
    searches = sum(outcome["complete"] for outcome in got)
    lost = sum(outcome["wrong"] + outcome["partial"] + outcome["refused"] for outcome in got)
    return [(b - a) * 1000 / searches for a, b in zip(before, after)], searches, lost


def idle(one):
    before = one.seconds()
    time.sleep(IDLE_SECONDS)
    after = one.seconds()
    return [(b - a) * 1000 / IDLE_SECONDS / len(one.ports) for a, b in zip(before, after)][:2]


def closed(one, clients, seconds, first):
    """With this many clients, each asking one search after another: searches per second, mean milliseconds per search, processor
    milliseconds per search of this program, and how many cores all participants in a search used together."""
    counts, times = [0] * clients, [0.0] * clients
    end = time.monotonic() + seconds

    def ask(i):
        connection = http.client.HTTPConnection("127.0.0.1", one.ports[i % len(one.ports)])
        while (begin := time.monotonic()) < end:
            connection.request("GET", f"/search?format=json&q={first}-{i}-{counts[i]}")
            answer = connection.getresponse()
            assert answer.status == 200
            answer.read()
            counts[i] += 1
            times[i] += time.monotonic() - begin

    before, others = time.process_time(), sum(one.seconds())
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own = time.process_time() - before
    return (sum(counts) / seconds, sum(times) / sum(counts) * 1000, own * 1000 / sum(counts),
            (sum(one.seconds()) - others + own) / seconds)


def mean_value_analysis(clients, demand_ms, cores, delay_ms):
    """Searches per second and milliseconds per search of a station with this many cores and a delay without a queue.

    The station is Seidmann's approximation of several cores: a single one that is as fast as all together, and a delay for the rest.
    """
    fast, rest = demand_ms / cores, demand_ms * (cores - 1) / cores
    queue, out = 0.0, []
    for n in range(1, clients + 1):
        residence = fast * (1 + queue)
        response = residence + rest + delay_ms
        rate = n / response
        queue = rate * residence
        out.append((rate * 1000, response))
    return out[-1]


def measure(options, program, folder, nginx):
    kinds = [("one server, SQLite", 1, "sqlite"), ("1 server", 1, "postgresql"), ("2 servers", 2, "postgresql"),
             ("4 servers", 4, "postgresql")]
    rounds = {name: [] for name, *_ in kinds}
    idling = {}
    for _ in range(options.rounds):
        for name, servers, store in kinds:
            with running(program, folder, nginx, servers, store) as one:
                costs, searches, lost = loaded(one, options.build, options.rate, options.seconds)
                assert lost == 0, (name, lost)
                rounds[name].append(costs)
                if name not in idling:
                    idling[name] = idle(one)
    print(f"{options.rate:g} searches per second, {options.rounds} rounds of {searches} searches each")
    print("                        processor ms per search (least to most of the rounds)      idle, ms per second and server")
    print("                        servers                  database     engines       servers   database")
    middle = {}
    for name, *_ in kinds:
        middle[name] = [statistics.median(cost) for cost in zip(*rounds[name])]
        own = [costs[0] for costs in rounds[name]]
        print(f"{name:20} {middle[name][0]:8.3f} ({min(own):.3f} to {max(own):.3f}) {middle[name][1]:10.3f} {middle[name][2]:10.3f} "
              f"{idling[name][0]:12.2f} {idling[name][1]:10.2f}")
    for name in ("2 servers", "4 servers"):
        print(f"{name}: {100 * (middle[name][0] / middle['1 server'][0] - 1):+.1f} % processor time per search against 1 server")
    return middle


def check_model(options, program, folder, nginx, demand_ms):
    with running(program, folder, nginx, 4, "postgresql") as one:
        closed(one, 4, 2, "warm")
        # A single search takes longer than its processor time; the difference is the delay: network, and
        # threads being woken.
        _, alone_ms, client_ms, _ = closed(one, 1, options.seconds, "alone")
        *_, cores = closed(one, 16, options.seconds, "all")
        all_ms = demand_ms + client_ms
        delay_ms = max(0.0, alone_ms - all_ms)
        print(f"model: servers, database and engines {demand_ms:.2f} ms, this client {client_ms:.2f} ms, delay {delay_ms:.2f} ms per "
              f"search; {cores:.2f} cores, which is what 16 clients got of {os.cpu_count()}")
        print("clients   searches per second: measured, model    ms of a search: measured, model")
        for clients in (1, 2, 4, 8, 16):
            rate, took, *_ = closed(one, clients, options.seconds, f"c{clients}")
            expected_rate, expected_ms = mean_value_analysis(clients, all_ms, max(1.0, cores), delay_ms)
            print(f"{clients:7} {rate:22.1f} {expected_rate:10.1f} {took:22.2f} {expected_ms:10.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if parts.POSTGRES is None or os.geteuid() != 0:
        sys.exit("needs root and the Debian package postgresql")
    program = options.build.resolve() / "metafuse"
    with local_service.engines() as (folder, _, nginx):
        middle = measure(options, program, folder, nginx)
        check_model(options, program, folder, nginx, sum(middle["4 servers"]))


main()
