#!/usr/bin/python3
"""rankboost_ratios.py BUILD_DIR WORK_DIR [small meta medium large] [--rounds N] [--no-xgboost]

Processor seconds per round of RankBoost 3.cum and of xgboost (rank:pairwise, hist, depth 1), one thread each, measured in
one run, with their ratio and the time that memory bandwidth alone would need; weak learner 2.cum as a multiple of 3.cum;
peak memory above that of training on two documents; text read and scored per second; the fusion of one search. Makes the
workloads in WORK_DIR if they do not exist. xgboost is Debian's, unpacked below WORK_DIR by `apt-get download` and not
installed, because its package conflicts with libboost1.81-dev.
"""
import argparse, glob, json, os, resource, subprocess, sys

import private_xgboost

SHAPES = {'small': ('100', '100', '20', '1'), 'medium': ('1000', '100', '46', '2'), 'large': ('5000', '120', '136', '3')}
CHILD = r'''
import json, resource, sys, time
import xgboost
path, rounds, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = xgboost.DMatrix(path + '?format=libsvm')
booster = xgboost.Booster({'objective': 'rank:pairwise', 'tree_method': 'hist', 'max_depth': depth, 'nthread': 1,
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


def peak_mb(command):
    """Peak memory of one command, which must succeed."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status: sys.exit(f'failed: {command}')
    return usage.ru_maxrss / 1024


def cpu_seconds(command, quiet=False):
    """Processor seconds of one command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if quiet else None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(build, path, name, rounds, *options):
    command = [f'{build}/bench/rankboost_rounds', path, f'rounds={rounds}', *options]
    if name == 'meta': command.append('absent=unranked')
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {key: float(value) for key, value in zip(words[::2], words[1::2])}


def xgboost(environment, path, rounds, depth=1):
    done = subprocess.run(['/usr/bin/python3', '-c', CHILD, path, str(rounds), str(depth)], env=environment, capture_output=True, text=True)
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
    print(f'triad {bandwidth:.1f} GB/s, load {os.getloadavg()[0]:.1f}')
    tiny = f'{a.folder}/tiny.txt'
    with open(tiny, 'w') as file: file.write('0 qid:1 1:1\n1 qid:1 1:2\n')
    bare = [f'{a.build}/metafuse', 'train', '--letor', tiny, '--threads', '1', '--model', f'{a.folder}/model.json']
    base = peak_mb(bare)
    names = a.names or ['small', 'meta', 'medium']
    told = {}
    print(f'{"":8}{"ours s":>11}{"xgboost s":>11}{"ratio":>8}{"memory s":>11}')
    for name in names:
        path = workload(a.build, a.folder, name)
        mine = told[name] = ours(a.build, path, name, a.rounds)
        theirs = None if a.no_xgboost else xgboost(environment, path, max(10, a.rounds // 5))
        mine['cells'] = mine['documents'] * mine['features']
        floor = (mine['cells'] + 48 * mine['documents']) / (bandwidth * 1e9)
        print(f'{name:8}{mine["round_cpu_mean"]:11.6f}' +
              (f'{theirs["round"]:11.6f}{theirs["round"] / mine["round_cpu_mean"]:8.1f}' if theirs else f'{"-":>11}{"-":>8}') +
              f'{floor:11.6f}')
    print('weak learner 2.cum, times 3.cum (allowed: bipartite 6, graded 3 x grades)')
    for name in names:
        path = workload(a.build, a.folder, name)
        cost = {(learner, feedback): ours(a.build, path, name, a.rounds, f'weak-learner={learner}', f'feedback={feedback}')['round_cpu_mean']
                for learner in ('3.cum', '2.cum') for feedback in ('bipartite', 'graded')}
        grades = 2 if name == 'meta' else 5
        print(f'{name:8}' + ''.join(f'{feedback:>11}{cost["2.cum", feedback] / cost["3.cum", feedback]:6.1f} of {allowed}'
                                    for feedback, allowed in (('bipartite', 6), ('graded', 3 * grades))))
    print(f'peak MB of `metafuse train` above that for two documents ({base:.0f} MB), one thread')
    for name in names:
        path = workload(a.build, a.folder, name)
        train = [f'{a.build}/metafuse', 'train', '--letor', path, '--rounds', '10', '--threads', '1', '--model', f'{a.folder}/model.json']
        if name == 'meta': train += ['--absent', 'unranked']
        for learner, bytes_a_cell in (('3.cum', 1.5), ('2.cum', 2.5)):
            allowed = (bytes_a_cell * told[name]['cells'] + 64 * told[name]['documents']) / 2**20
            print(f'{name:8}{learner:>8}{peak_mb(train + ["--weak-learner", learner]) - base:9.1f} of {allowed:.1f}')
    print(f'{"":8}{"read, MB a processor second":>30}{"the same, 2 threads":>24}{"score, MB/s":>14}')
    for name in names:
        path = workload(a.build, a.folder, name)
        size = os.path.getsize(path) / 1e6
        speeds = [size / max(min(ours(a.build, path, name, 1, f'threads={threads}')['read_cpu'] for _ in range(3)), 1e-3) for threads in (1, 2)]
        model = f'{a.folder}/{name}-model.json'
        subprocess.run([f'{a.build}/metafuse', 'train', '--letor', path, '--rounds', '50', '--model', model, *(['--absent', 'unranked'] if name == 'meta' else [])],
                       check=True, capture_output=True)
        score = [f'{a.build}/metafuse', 'score', '--model', model, '--output', f'{a.folder}/scores', '--letor']
        start = min(cpu_seconds(score + [tiny]) for _ in range(5))
        spent = max(min(cpu_seconds(score + [path]) for _ in range(5)) - start, 1e-3)
        print(f'{name:8}{speeds[0]:30.0f}{speeds[1]:24.0f}{size / spent:14.0f}   ({start:.3f} s to start the program left out)')
    print(subprocess.run([f'{a.build}/bench/fuse_lists'], check=True, capture_output=True, text=True).stdout, end='')


if __name__ == '__main__':
    main()
