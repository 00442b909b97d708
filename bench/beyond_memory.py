#!/usr/bin/python3
"""beyond_memory.py BUILD_DIR WORK_DIR [--limit MIB] [--times N] [--rounds N] [--features N] [--repeat N]

Trains on LETOR data N times as large as a memory limit: once in memory without a limit, and once with a file of columns
(`train --memory-limit`) in a control group that may use no more (page cache included). The two take turns, each with the
text out of the page cache. Prints seconds, processor seconds and peak memory of both, the ratio, and whether the models
are byte for byte the same. Needs root for the control group (systemd-run, else cgroup version 2 or 1 by hand). Writes its
input to WORK_DIR, which must be on a disk.
"""
import argparse, filecmp, os, random, statistics, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('build'); parser.add_argument('folder')
parser.add_argument('--limit', type=int, default=256, help='MiB')
parser.add_argument('--times', type=float, default=4.0, help='size of the text over the limit')
parser.add_argument('--rounds', type=int, default=200); parser.add_argument('--features', type=int, default=46)
parser.add_argument('--values', type=int, default=20000, help='distinct values of two features in three; the others have 200')
parser.add_argument('--repeat', type=int, default=3); parser.add_argument('--threads', type=int, default=1)
parser.add_argument('--options', default='', help='further options of RankBoost, such as weak-learner=2.cum')
a = parser.parse_args()
os.makedirs(a.folder, exist_ok=True)
limit = a.limit << 20


def make_input(path, size):
    """Queries of 100 documents with grades 0 to 2; higher grades tend to have higher feature values."""
    draw = random.Random(5)
    pools = []
    for j in range(1, a.features + 1):
        count = 200 if j % 3 == 0 else a.values
        pools.append([f' {j}:{(i + draw.random()) / count:.6f}' for i in range(count)])
    query = 0
    with open(path + '.part', 'w') as file:
        while file.tell() < size:
            lines = []
            for place in range(100):
                grade = draw.choice((0, 0, 0, 1, 2))
                cells = [pool[int(len(pool) * draw.random() ** (1 - .15 * grade))] for pool in pools]
                lines.append(f'{grade} qid:{query}{"".join(cells)} # d{query}-{place}\n')
            file.write(''.join(lines)); query += 1
    os.rename(path + '.part', path)
    return query * 100


def forget(path):
    """Drops a file from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor); os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED); os.close(descriptor)


class Group:
    """A control group with limited memory."""

    def __init__(self):
        self.folder, self.prefix = None, []
        name = f'metafuse-bench-{os.getpid()}'
        if os.path.isdir('/run/systemd/system'):
            self.prefix = ['systemd-run', '--scope', '--quiet', '-p', f'MemoryMax={limit}', '-p', 'MemorySwapMax=0']
            return
        two, one = f'/sys/fs/cgroup/{name}', f'/sys/fs/cgroup/memory/{name}'
        self.folder = one if os.path.isdir('/sys/fs/cgroup/memory') else two
        os.mkdir(self.folder)
        file = 'memory.limit_in_bytes' if self.folder == one else 'memory.max'
        with open(f'{self.folder}/{file}', 'w') as knob: knob.write(str(limit))

    def enter(self):
        if self.folder:
            with open(f'{self.folder}/cgroup.procs', 'w') as members: members.write(str(os.getpid()))

    def peak(self):
        for name in ('memory.max_usage_in_bytes', 'memory.peak'):
            if self.folder and os.path.exists(f'{self.folder}/{name}'): return int(open(f'{self.folder}/{name}').read()) >> 20

    def close(self):
        if self.folder: os.rmdir(self.folder)


def train(path, model, more=(), group=None):
    forget(path)
    command = [f'{a.build}/bench/rankboost_rounds', path, f'rounds={a.rounds}', f'threads={a.threads}', f'model={model}',
               *a.options.split(), *more]
    begin = time.monotonic()
    child = subprocess.Popen([*(group.prefix if group else []), *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             preexec_fn=group.enter if group else None)
    told = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status: sys.exit(f'{" ".join(command)}: status {status}\n{told[-800:]}')
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


path = f'{a.folder}/beyond-{a.limit}-{a.times}-{a.features}-{a.values}.txt'
if not os.path.exists(path): make_input(path, int(a.times * limit))
print(f'{os.path.getsize(path) >> 20} MiB of text, {a.features} features, limit {a.limit} MiB, {a.rounds} rounds, {a.threads} threads, '
      f'load {os.getloadavg()[0]:.1f}', flush=True)
group = Group()
ratios, cpu_ratios, same = [], [], True
try:
    for _ in range(a.repeat):
        memory = train(path, f'{a.folder}/memory.json')
        file = train(path, f'{a.folder}/file.json', (f'memory-limit={a.limit}', f'temporary={a.folder}'), group)
        same = same and filecmp.cmp(f'{a.folder}/memory.json', f'{a.folder}/file.json', shallow=False)
        ratios.append(file[0] / memory[0]); cpu_ratios.append(file[1] / memory[1])
        print(f'in memory {memory[0]:.1f} s ({memory[1]:.1f} of processor, {memory[2]} MiB), from a file {file[0]:.1f} s '
              f'({file[1]:.1f} of processor, group at most {group.peak()} MiB with its cache)', flush=True)
finally:
    group.close()
print(f'ratio {statistics.median(ratios):.2f} of time ({min(ratios):.2f} to {max(ratios):.2f}), {statistics.median(cpu_ratios):.2f} of '
      f'processor time; models {"of the same bytes" if same else "DIFFER"}')
sys.exit(0 if same else 1)
