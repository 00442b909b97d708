#!/usr/bin/env python3
"""How much of the server's memory an idle client connection takes.

usage: bench/idle_connections.py METAFUSE [CONNECTIONS]
Opens CONNECTIONS (2,000) connections, each of which gets one answer and then stays idle. Prints by how much the server's
anonymous memory grew: while they are open, per connection, and after they are closed. Needs Debian's nginx-light.
"""
import contextlib
import os
import resource
import time

import bursts
import local_service
import usage

SETTINGS = ("cache: {{entries: 4096, seconds: 600}}\n"
            "limits: {{max_connections: {0}, idle_seconds: 120}}")
REQUEST = b"GET /search?format=json&q=q HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def main():
    metafuse, *count = usage.arguments(__doc__, 1, 2)
    count = int(count[0]) if count else 2000
    wanted = 2 * count + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with local_service.engines() as (folder, _, _), \
            local_service.server(metafuse, folder, SETTINGS.format(count + 100)) as (server, port, _):
        bursts.Subject([server.pid], port, lambda number: REQUEST, 8).burst(2000)
        memory = lambda: local_service.proportional_mib(server.pid, "Pss_Anon")
        before = memory()
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                connection = bursts.Connection(port)
                stack.callback(connection.socket.close)
                connection.send(REQUEST)
                while connection.read() is None:
                    pass
            time.sleep(1)
            grown = memory() - before
        time.sleep(1)
        print(f"{count} idle connections: {grown:.1f} MiB, {1024 * grown / count:.2f} KiB each; {memory() - before:.1f} MiB once closed")


if __name__ == "__main__":
    main()
