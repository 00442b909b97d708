#!/usr/bin/env python3
"""The server works under the system calls that its systemd unit allows.

usage: unit_filter.py METAFUSE. Reads SystemCallFilter of config/metafuse.service as systemd does, and kills the server
at any other call, even where the unit would only let the call fail. Needs systemd-analyze and libseccomp; else it is
skipped.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

METAFUSE = os.path.abspath(sys.argv[1])
UNIT = pathlib.Path(__file__).parents[2] / "config/metafuse.service"
KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
NOBODY = 65534


def calls_of(name):
    """The calls of a name, which may be one of systemd's sets such as @system-service."""
    if not name.startswith("@"):
        return {name}
    listing = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
    names = [line.strip() for line in listing.stdout.splitlines()[1:]]
    return set().union(*(calls_of(one) for one in names if one and not one.startswith("#")))


def allowed_calls():
    allowed = calls_of("@default") | {"execve"}  # systemd adds both to every list
    for line in UNIT.read_text().splitlines():
        key, _, names = line.partition("=")
        if key == "SystemCallFilter":
            calls = set().union(*(calls_of(one) for one in names.lstrip("~").split()))
            allowed = allowed - calls if names.startswith("~") else allowed | calls
    return allowed


def filter_calls(seccomp, calls):
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(KILL_PROCESS)))
    for name in calls:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            assert seccomp.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0) == 0, name
    assert seccomp.seccomp_load(context) == 0


def become_ordinary(calls):
    """Becomes a user without rights, as the unit's DynamicUser is, under the filter."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    filter_calls(library, calls)


def answer_of(path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


try:
    library = ctypes.CDLL("libseccomp.so.2")
except OSError:
    library = None
if library is None or shutil.which("systemd-analyze") is None:
    print("SKIPPED: systemd-analyze and libseccomp2 are not installed")
    sys.exit(77)
PORT = 18000 + os.getpid() % 20000
with tempfile.TemporaryDirectory() as folder:
    pages = pathlib.Path(folder, "pages")
    pages.mkdir()
    for word in ("otter", "beaver", "badger"):
        (pages / f"{word}.txt").write_text(f"The {word}\nlives by the river.\n")
    etc = pathlib.Path(folder, "etc")
    subprocess.run([METAFUSE, "init", etc, "--documents", pages, "--listen", f"127.0.0.1:{PORT}"], check=True,
                   stdout=subprocess.DEVNULL)
    program = shutil.copy(METAFUSE, folder)  # where anybody may read it
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
        subprocess.run(["chown", "-R", str(NOBODY), etc], check=True)
    calls = allowed_calls()
    server = subprocess.Popen([program, "serve", "--config", etc / "metafuse.yaml"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, preexec_fn=lambda: become_ordinary(calls))
    try:
        for _ in range(100):
            time.sleep(0.1)
            if server.poll() is not None:
                sys.exit(f"the server ended with {server.returncode}: {server.stderr.read().decode()}")
            try:
                answer_of("/healthz")
                break
            except OSError:
                continue
        assert b"otter" in answer_of("/search?q=river&format=json")
        assert b"otter" in answer_of("/v1/fuse", b'{"lists":[{"name":"a","results":["otter"]}]}')
        time.sleep(2)  # the thread that learns has begun its work
        assert server.poll() is None, f"the server ended with {server.returncode}"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            raise
    assert server.returncode == 0, server.returncode
print(f"unit_filter: {len(calls)} system calls suffice")
