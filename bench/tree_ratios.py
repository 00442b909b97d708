#!/usr/bin/env python3
"""Processor seconds per tree of monotone-trees and of Debian's xgboost (rank:pairwise, hist), one thread each.

usage: bench/tree_ratios.py BUILD WORK_DIR [FILE.txt ...]
Workloads are `medium` and `large` of rankboost_ratios.py, `sparse` (medium, with one document in ten ranked by each
feature), and the LETOR files given. All features and queries are used, so that both programs do the same work. The time of
a tree is the difference between a long and a short training, divided by the difference in their numbers of trees.
xgboost is unpacked below WORK_DIR by `apt-get download`, as rankboost_ratios.py does.
"""
import pathlib
import random

import private_xgboost
import rankboost_ratios
import usage

SHORT, LONG = 10, 60
OPTIONS = ['bags=1', 'feature-share=1', 'query-share=1']


def sparse_file(source, target):
    chance = random.Random(5)
    with open(source) as lines, open(target, 'w') as out:
        for line in lines:
            grade, query, *values = line.split('#')[0].split()
            out.write(' '.join([grade, query, *(value for value in values if chance.random() < .1)]) + '\n')


def ours(build, path, depth):
    def spent(trees):
        return min(rankboost_ratios.cpu_seconds([f'{build}/bench/learner_rounds', 'monotone-trees', path, f'rounds={trees}',
                                                 f'tree-depth={depth}', *OPTIONS], quiet=True) for _ in range(3))
    return (spent(LONG) - spent(SHORT)) / (LONG - SHORT)


def main():
    build, folder, *files = usage.arguments(__doc__, 2)
    pathlib.Path(folder).mkdir(exist_ok=True)
    environment = private_xgboost.environment(folder)
    paths = [rankboost_ratios.workload(build, folder, name) for name in ('medium', 'large')]
    paths.append(f'{folder}/sparse.txt')
    if not pathlib.Path(paths[-1]).exists():
        sparse_file(paths[0], paths[-1])
    print(f'{"":24}depth     ours s  xgboost s   ours / xgboost')
    for path in paths + files:
        for depth in (2, 3):
            mine, theirs = ours(build, path, depth), rankboost_ratios.xgboost(environment, path, SHORT, depth)['round']
            print(f'{pathlib.Path(path).name:24}{depth:5}{mine:11.5f}{theirs:11.5f}{mine / theirs:17.2f}', flush=True)


if __name__ == '__main__':
    main()
