#!/usr/bin/python3
"""rankboost_ratios.py BUILD_DIR WORK_DIR [small meta medium large] [--rounds N] [--no-xgboost]

Seconds a round of RankBoost 3.cum and of xgboost (rank:pairwise, hist, depth 1), one thread each, from one run,
with their ratio, peak memory and what memory bandwidth alone would allow. Makes the workloads in WORK_DIR when
they are not there. xgboost is Debian's, unpacked below WORK_DIR without being installed, because its package
conflicts with libboost1.81-dev.
"""
import argparse, json, os, subprocess, sys

import private_xgboost

SHAPES = {'small': ('100', '100', '20', '1'), 'medium': ('1000', '100', '46', '2'), 'large': ('5000', '120', '136', '3')}
CHILD = r'''
import json, resource, sys, time
import xgboost
path, rounds = sys.argv[1], int(sys.argv[2])
data = xgboost.DMatrix(path + '?format=libsvm')
booster = xgboost.Booster({'objective': 'rank:pairwise', 'tree_method': 'hist', 'max_depth': 1, 'nthread': 1,
                           'verbosity': 0}, [data])
times = []
for i in range(rounds):
    begin = time.process_time()
    booster.update(data, i)
    times.append(time.process_time() - begin)
print(json.dumps({'round': sorted(times[1:])[len(times) // 2], 'peak_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
'''


def workload(build, folder, name):
    path = f'{folder}/{name}.txt'
    if not os.path.exists(path):
        tool = f'{build}/bench/ltr_workloads'
        command = [tool, 'meta', '7', path] if name == 'meta' else [tool, name, *SHAPES[name], path]
        subprocess.run(command, check=True)
    return path


def ours(build, path, name, rounds):
    command = [f'{build}/bench/rankboost_rounds', path, f'rounds={rounds}']
    if name == 'meta': command.append('absent=unranked')
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {key: float(value) for key, value in zip(words[::2], words[1::2])}


def xgboost(environment, path, rounds):
    done = subprocess.run(['/usr/bin/python3', '-c', CHILD, path, str(rounds)], env=environment, capture_output=True, text=True)
    if done.returncode: sys.exit('xgboost: ' + done.stderr.strip()[-300:])
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build'); parser.add_argument('folder'); parser.add_argument('names', nargs='*')
    parser.add_argument('--rounds', type=int, default=200); parser.add_argument('--no-xgboost', action='store_true')
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    environment = None if a.no_xgboost else private_xgboost.environment(a.folder)
    bandwidth = float(subprocess.run([f'{a.build}/bench/triad'], check=True, capture_output=True, text=True).stdout)
    print(f'triad {bandwidth:.1f} GB/s')
    print(f'{"":8}{"ours s":>11}{"xgboost s":>11}{"ratio":>8}{"memory s":>11}{"peak MB":>9}{"allowed":>9}{"read MB/s":>11}')
    for name in a.names or ['small', 'meta', 'medium']:
        path = workload(a.build, a.folder, name)
        mine = ours(a.build, path, name, a.rounds)
        theirs = None if a.no_xgboost else xgboost(environment, path, max(10, a.rounds // 5))
        cells = mine['documents'] * mine['features']
        floor = (cells + 48 * mine['documents']) / (bandwidth * 1e9)
        allowed = (1.5 * cells + 64 * mine['documents']) / 1e6
        speed = os.path.getsize(path) / 1e6 / max(mine['read_cpu'], 1e-3)
        print(f'{name:8}{mine["round_cpu_mean"]:11.6f}' +
              (f'{theirs["round"]:11.6f}{theirs["round"] / mine["round_cpu_mean"]:8.1f}' if theirs else f'{"-":>11}{"-":>8}') +
              f'{floor:11.6f}{mine["peak_mb"]:9.0f}{allowed:9.0f}{speed:11.0f}')


main()
