#!/usr/bin/python3
"""rankboost_scaling.py BUILD_DIR WORK_DIR [--quick] [--ranks-only]

How training time grows: log-log slopes of processor seconds over documents, features and rounds, with one thread, for weak
learners 3.cum and 2.cum; then the same job on 1, 2 and 4 ranks of MPI, with the bytes sent per round. Makes its inputs in WORK_DIR.
Needs Debian's openmpi-bin.
"""
import argparse, math, os, re, resource, subprocess, sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('build'); parser.add_argument('folder'); parser.add_argument('--quick', action='store_true')
parser.add_argument('--ranks-only', action='store_true')
a = parser.parse_args()
os.makedirs(a.folder, exist_ok=True)


def workload(queries, features):
    path = f'{a.folder}/scaling-{queries}-{features}.txt'
    if not os.path.exists(path):
        subprocess.run([f'{a.build}/bench/ltr_workloads', 'scaling', str(queries), '100', str(features), '2', path], check=True)
    return path


def round_seconds(path, rounds, learner):
    words = subprocess.run([f'{a.build}/bench/rankboost_rounds', path, f'rounds={rounds}', f'weak-learner={learner}'], check=True,
                           capture_output=True, text=True).stdout.split()
    told = {key: float(value) for key, value in zip(words[::2], words[1::2])}
    return told['round_cpu_mean'], told['round_cpu_mean'] * (rounds - 1)


def slope(points):
    xs = [math.log(x) for x, _ in points]; ys = [math.log(y) for _, y in points]
    mx = sum(xs) / len(xs); my = sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def show(name, learner, points, unit):
    print(f'{learner:6} {name:10} slope {slope(points):5.2f}   ' + '  '.join(f'{x}: {y * 1e3:.3g} ms' for x, y in points) + f'   {unit}')


scale = 1 if a.quick else 2
for learner in () if a.ranks_only else ('3.cum', '2.cum'):
    show('documents', learner, [(q * 100, min(round_seconds(workload(q, 46), 60, learner)[0] for _ in range(3)))
                                for q in (125 * scale, 250 * scale, 500 * scale, 1000 * scale)], 'a round, 46 features')
    show('features', learner, [(f, min(round_seconds(workload(500, f), 60, learner)[0] for _ in range(3))) for f in (16, 32, 64, 128)],
         'a round, 50,000 documents')
    show('rounds', learner, [(r, min(round_seconds(workload(250, 46), r + 1, learner)[1] for _ in range(3))) for r in (50, 100, 200, 400)],
         'in all, 25,000 documents')

environment = {**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
               'OMPI_MCA_rmaps_base_oversubscribe': '1', 'OMPI_MCA_mpi_yield_when_idle': '1'}
print(f'ranks of MPI on {os.cpu_count()} cores, 100,000 documents x 46 features, load {os.getloadavg()[0]:.1f}')
path = workload(1000, 46)
models = []
for ranks in (1, 2, 4):
    spent = []
    for rounds in (20, 220):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        launch = [] if ranks == 1 else ['mpirun', '-np', str(ranks)]
        command = [*launch, f'{a.build}/metafuse', 'train', '--letor', path, '--rounds', str(rounds), '--threads', '1', '--model', f'{a.folder}/m{ranks}.json']
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode: sys.exit(done.stderr[-500:])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    models.append(open(f'{a.folder}/m{ranks}.json', 'rb').read())
    print(f'{ranks} ranks: {(spent[1] - spent[0]) / 200 * 1e3:.2f} processor ms a round over all ranks, model '
          + ('the same bytes' if models[-1] == models[0] else 'DIFFERENT'))
