#!/usr/bin/python3
"""usage: bench/fusion_ratios.py METAFUSE RUN_WORKLOADS WORK_DIR [A B]

CPU seconds and peak memory of evaluating one run and of fusing all runs, from text to text, on workloads A and B in one
go. If trec_eval is in PATH, it is measured too, and the ratio is printed. Peak memory is that of the process minus the
size of the run files, which are mapped and need no private memory. Makes the workloads in WORK_DIR if they do not exist.
For comparison with fusing, a program reads the runs and writes as many bytes as fusing wrote, 1 MB at a time, with the
same number of kernel calls as `cat`; the start-up time of Python is subtracted.
"""
import glob, os, shutil, subprocess, sys

import usage

SHAPES = {'A': '1000 1000 10 3000 200 1', 'B': '50000 30 16 100 20 2'}
MEASURES = 'map,ndcg_cut_10,P_10,recip_rank'


COPY = """
import os, sys
buffer = bytearray(1 << 20)
for path in sys.argv[3:]:
    handle = os.open(path, os.O_RDONLY)
    while os.readv(handle, [buffer]): pass
left, out = int(sys.argv[2]), os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
while left > 0: left -= os.write(out, memoryview(buffer)[:left])
"""


def copied(runs, output):
    """The least CPU seconds for reading the runs and writing as many bytes as the output has."""
    python = [sys.executable, '-I', '-c']
    spent = measured([*python, COPY, f'{output}.copy', str(os.path.getsize(output)), *runs])[0]
    return spent - measured([*python, 'import os, sys'])[0]


def measured(command):
    """The least CPU seconds of three runs, and the peak memory in MB."""
    best = None
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f'{" ".join(command[:6])} ...: failed')
        seconds = usage.ru_utime + usage.ru_stime
        if best is None or seconds < best[0]:
            best = seconds, usage.ru_maxrss / 1024
    return best


def megabytes(paths):
    return sum(os.path.getsize(p) for p in paths) / 2**20


def row(name, seconds, memory, goal, note=''):
    print(f'| {name} | {seconds:.2f} | {memory:.0f} | {goal} | {note} |', flush=True)


def main():
    metafuse, generator, work, *names = usage.arguments(__doc__, 3)
    print('| work | CPU s | private MB | goal CPU s | beside |\n|---|---:|---:|---:|---|')
    for name in names or list(SHAPES):
        folder = f'{work}/{name}'
        if not os.path.exists(f'{folder}/qrels.txt'):
            subprocess.run([generator, folder, *SHAPES[name].split()], check=True)
        runs, qrels = sorted(glob.glob(f'{folder}/sys*.run')), f'{folder}/qrels.txt'
        seconds, peak = measured([metafuse, 'evaluate', '--qrels', qrels, '--runs', runs[0], '--measures', MEASURES])
        note = 'trec_eval is not installed'
        if shutil.which('trec_eval'):
            theirs, their_peak = measured(['trec_eval', '-m', 'map', '-m', 'ndcg_cut.10', '-m', 'P.10', '-m', 'recip_rank', qrels, runs[0]])
            note = f'trec_eval {theirs:.2f} s, {their_peak:.0f} MB: x{theirs / seconds:.1f}'
        row(f'{name}: evaluate one run', seconds, peak - megabytes([qrels, runs[0]]), {'A': .09, 'B': .37}[name], note)
        for method, goal in (('rrf', {'A': 1.0, 'B': 1.5}), ('combmnz', {'A': 1.0, 'B': 1.5}), ('borda', {'A': 1.0, 'B': 1.5}), ('condorcet', {'A': 10, 'B': '-'})):
            seconds, peak = measured([metafuse, 'fuse', '--method', method, '--runs', *runs, '--output', f'{work}/fused.run'])
            bytes_alone = copied(runs, f'{work}/fused.run')
            row(f'{name}: fuse {len(runs)} runs, {method}', seconds, peak - megabytes(runs), goal[name],
                f'reading and writing {bytes_alone:.2f} s: x{seconds / bytes_alone:.1f}')


main()
