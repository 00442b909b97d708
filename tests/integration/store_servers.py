"""Debian's PostgreSQL and Redis in folders of their own, each behind a relay that can swallow bytes or delay them. A module for tests
and benchmarks, not a program."""
import glob
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

SLOW_SECONDS = 0.15
PATIENCE = 60  # seconds for a server to be back; a loaded machine is slow


class Relay:
    """A TCP port in front of a server, which can swallow bytes or delay them."""

    def __init__(self, connect):
        self.connect, self.mode, self.pairs = connect, "pass", []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            if self.mode == "black hole":
                return self.swallow(client)
            try:
                server = self.connect()
            except OSError:
                return
            with server:
                others = {client: server, server: client}
                while True:
                    ready, _, _ = select.select(list(others), [], [], 0.05)
                    if self.mode == "black hole":
                        return self.swallow(client)
                    for side in ready:
                        try:
                            data = side.recv(65536)
                            if not data:
                                return
                            if self.mode == "slow":
                                time.sleep(SLOW_SECONDS)
                            others[side].sendall(data)
                        except OSError:
                            return

    def swallow(self, client):
        """Answers nothing and forgets the connection when the fault is over, as a firewall would."""
        while self.mode == "black hole":
            time.sleep(0.02)


class Postgres:
    name = "PostgreSQL"

    @staticmethod
    def is_installed():
        return bool(glob.glob("/usr/lib/postgresql/*/bin") and shutil.which("psql"))

    def __init__(self, folder):
        self.programs, self.folder = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1], folder
        self.user = "postgres" if os.geteuid() == 0 else None
        folder.chmod(0o777)
        subprocess.run([f"{self.programs}/initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"],
                       check=True, stdout=subprocess.DEVNULL, user=self.user, cwd="/")
        self.start()
        self.relay = Relay(self.connect)

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.folder / ".s.PGSQL.5432"))
        return server

    def url(self, is_direct=False):
        place = f"/postgres?host={self.folder}&user=tester" if is_direct else f"tester@127.0.0.1:{self.relay.port}/postgres"
        return f"postgresql://{place}"

    def start(self):
        log = (self.folder / "log").open("a")
        end = time.monotonic() + PATIENCE
        while True:  # after a kill, children of the old process may still hold its memory
            self.process = subprocess.Popen([f"{self.programs}/postgres", "-D", self.folder / "data", "-k", self.folder, "-c",
                                             "listen_addresses="], stdout=log, stderr=log, user=self.user, cwd="/")
            while self.process.poll() is None and time.monotonic() < end:
                if subprocess.run(["psql", "-q", "-h", self.folder, "-U", "tester", "-d", "postgres", "-c", "SELECT 1"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                    return
                time.sleep(0.02)
            if time.monotonic() >= end:
                sys.exit("PostgreSQL does not start: " + (self.folder / "log").read_text()[-2000:])

    def stop(self, is_hard):
        self.process.send_signal(signal.SIGKILL if is_hard else signal.SIGINT)
        self.process.wait()


class Redis:
    name = "Redis"

    @staticmethod
    def is_installed():
        return bool(shutil.which("redis-server"))

    def __init__(self, folder):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()
        self.relay = Relay(self.connect)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def start(self):
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                                         "no", "--dir", self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                return self.connect().close()
            except OSError:
                time.sleep(0.02)
        sys.exit("Redis does not start")

    def stop(self, is_hard):
        self.process.send_signal(signal.SIGKILL if is_hard else signal.SIGTERM)
        self.process.wait()
