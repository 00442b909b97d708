"""Sends short bursts of requests to the servers under comparison, in turns; a module, not a program.

A burst takes a tenth of a second, so other work on the machine affects all servers alike. The processor time of every
thread is read from the kernel's accounting, in nanoseconds.
"""
import pathlib
import re
import selectors
import socket
import statistics
import time


def thread_seconds(pids):
    """Processor seconds of all live threads of the processes."""
    total = 0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):  # the thread has ended
                pass
    return total / 1e9


class Connection:
    """One persistent connection, which sends one request after another."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.wanted = None

    def send(self, request):
        self.began = time.perf_counter()
        self.received = b""
        self.wanted = None
        self.socket.sendall(request)

    def read(self):
        """Reads once. Returns the seconds since the request if its answer is complete, else None."""
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self.received += piece
        if self.wanted is None:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return None
            length = re.search(rb"\r\n[Cc]ontent-[Ll]ength: (\d+)", self.received[: end + 2])
            self.wanted = end + 4 + int(length[1])
        if len(self.received) < self.wanted:
            return None
        if not self.received.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self.received[:300])
        return time.perf_counter() - self.began


class Subject:
    """A server process (with its children) to which bursts are sent.

    in: make_request - returns the bytes of the n-th request
    """

    def __init__(self, pids, port, make_request, connections=1):
        self.pids, self.make_request = pids, make_request
        self.connections = [Connection(port) for _ in range(connections)]
        self.count = 0

    def next_request(self):
        self.count += 1
        return self.make_request(self.count)

    def burst(self, requests):
        """Returns the processor seconds of the burst and the waiting time of each request in seconds."""
        times = []
        before = thread_seconds(self.pids)
        with selectors.DefaultSelector() as selector:
            left = requests
            for connection in self.connections[:requests]:
                selector.register(connection.socket, selectors.EVENT_READ, connection)
                connection.send(self.next_request())
                left -= 1
            while len(times) < requests:
                for key, _ in selector.select():
                    took = key.data.read()
                    if took is None:
                        continue
                    times.append(took)
                    if left > 0:
                        key.data.send(self.next_request())
                        left -= 1
        return (thread_seconds(self.pids) - before) / requests, times


def in_turns(subjects, rounds, requests):
    """For each subject, its processor milliseconds per request, one value per round; and its latencies in milliseconds."""
    cpu = [[] for _ in subjects]
    waits = [[] for _ in subjects]
    for turn in range(rounds):
        order = list(range(len(subjects)))
        for i in order if turn % 2 == 0 else reversed(order):
            seconds, times = subjects[i].burst(requests)
            cpu[i].append(1e3 * seconds)
            waits[i].extend(1e3 * time for time in times)
    return cpu, waits


def ratio_interval(numerators, denominators):
    """The median of the ratios of each round, with its 95 % interval (order statistics of the sign test)."""
    ratios = sorted(a / b for a, b in zip(numerators, denominators))
    n = len(ratios)
    reach = int(0.98 * n**0.5 + 1)
    low, high = max(0, n // 2 - reach), min(n - 1, (n - 1) // 2 + reach)
    return statistics.median(ratios), ratios[low], ratios[high]
