"""Debian's xgboost, unpacked into a private folder instead of installed, because its package conflicts with
libboost1.81-dev; a module, not a program."""
import glob, os, subprocess, sys

PACKAGES = ['python3-xgboost', 'libxgboost0', 'libdmlc0', 'python3-scipy', 'python3-numpy']


def environment(folder):
    """The environment in which /usr/bin/python3 can import xgboost; the first call downloads and unpacks it below `folder`."""
    root = os.path.abspath(f'{folder}/xgboost')
    if not os.path.isdir(f'{root}/usr/lib/python3/dist-packages/xgboost'):
        os.makedirs(root, exist_ok=True)
        subprocess.run(['apt-get', 'download', *PACKAGES], cwd=root, check=True, stdout=subprocess.DEVNULL)
        for package in glob.glob(f'{root}/*.deb'): subprocess.run(['dpkg', '-x', package, root], check=True)
    return {**os.environ, 'PYTHONPATH': f'{root}/usr/lib/python3/dist-packages',
            'LD_LIBRARY_PATH': f'{root}/usr/lib/x86_64-linux-gnu', 'OMP_NUM_THREADS': '1'}


def restart_with(folder):
    """Restarts this script in an environment in which xgboost can be imported; returns if it already runs in one."""
    if 'PRIVATE_XGBOOST' in os.environ: return
    os.execve('/usr/bin/python3', ['/usr/bin/python3', *sys.argv], {**environment(folder), 'PRIVATE_XGBOOST': '1'})
