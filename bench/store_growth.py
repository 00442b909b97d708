#!/usr/bin/env python3
"""How the work of a store grows with its size: bench/store_growth at three sizes, in SQLite and in PostgreSQL.

usage: bench/store_growth.py BUILD_FOLDER [SEARCHES]
Prints the processor microseconds per thing done, including the database's, at a quarter, a half and all of SEARCHES (100,000:
a thousandth of 100 million, with 10,000 clicks), the slope of log time over log size (1 is linear, less is better), and
the elapsed microseconds at the largest size. PostgreSQL needs root and Debian's package.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import usage

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/integration"))
import cluster_parts as parts  # noqa: E402


def measured(build, location, searches, server=0):
    done = subprocess.run([build / "bench/store_growth", location, str(searches), str(server)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def show(kind, sizes, figures):
    print(f"\n{kind}: processor's microseconds per thing at {', '.join(f'{size:,}' for size in sizes)} searches; slope; by the clock")
    for name in figures[0]:
        per_thing = [one[name]["cpu_seconds"] / one[name]["done"] * 1e6 for one in figures]
        # a tick of the kernel's accounting is 10 ms
        cpu = [max(one[name]["cpu_seconds"], 0.01) for one in (figures[0], figures[-1])]
        slope = math.log(cpu[1] / cpu[0]) / math.log(sizes[-1] / sizes[0])
        print(f"  {name:16}" + "".join(f"{value:10.1f}" for value in per_thing) + f"   {slope:.2f}"
              f"{figures[-1][name]['seconds'] / figures[-1][name]['done'] * 1e6:10.1f}")


def main():
    folder, *most = usage.arguments(__doc__, 1, 2)
    build = pathlib.Path(folder).resolve()
    most = int(most[0]) if most else 100_000
    sizes = [most // 4, most // 2, most]
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        folder = pathlib.Path(name)
        show("SQLite", sizes, [measured(build, str(folder / f"{size}.db"), size) for size in sizes])
        if parts.POSTGRES is None or os.geteuid() != 0:
            return print("PostgreSQL: skipped, needs root and the Debian package postgresql")
        database = parts.Database(folder, is_replicated=False)
        figures = []
        server = int((pathlib.Path(database.data(0)) / "postmaster.pid").read_text().split()[0])
        for size in sizes:
            database.ask(f"CREATE DATABASE growth{size}")
            figures.append(measured(build, database.url().replace("/postgres?", f"/growth{size}?"), size, server))
        show("PostgreSQL", sizes, figures)
        database.stop(0)


main()
