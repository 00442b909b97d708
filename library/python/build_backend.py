"""Builds the wheel from a build of the repository, without network access (PEP 517):

    scripts/setup --list scripts/packages-package.txt --target metafuse_python
    pip wheel --no-index --no-deps --wheel-dir build/wheel library/python

METAFUSE_BUILD names another build folder. The wheel contains libmetafuse, but not the libraries that it links to:
those are the system's, so the wheel works only on the Debian release that it was built on.
"""
import base64
import hashlib
import os
import pathlib
import re
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXTRAS = {"langchain": "langchain-core>=0.3", "llama-index": "llama-index-core>=0.12", "haystack": "haystack-ai>=2.8",
          "pyterrier": "python-terrier>=0.12"}


def _build():
    return pathlib.Path(os.environ.get("METAFUSE_BUILD", ROOT / "build" / "release"))


def _version():
    return re.search(r"^project\(metafuse VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def _module():
    found = _build() / "python" / "metafuse" / ("_metafuse" + sysconfig.get_config_var("EXT_SUFFIX"))
    if not found.exists():
        raise SystemExit(f"metafuse is not built for Python {sysconfig.get_python_version()}: there is no {found}; run "
                         f"`scripts/setup --list scripts/packages-package.txt --target metafuse_python` in {ROOT}, or "
                         "name another build folder in METAFUSE_BUILD, and install again")
    return found


def _metadata():
    return (f"Metadata-Version: 2.1\nName: metafuse\nVersion: {_version()}\n"
            "Summary: Learned fusion of ranked lists, evaluation, and a client of the server metafuse\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
            "Provides-Extra: pandas\nRequires-Dist: pandas ; extra == 'pandas'\n" + "".join(
                f"Provides-Extra: {extra}\nRequires-Dist: {needed} ; extra == '{extra}'\n"
                for extra, needed in EXTRAS.items()))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = "cp{0}-cp{0}-{1}".format(sysconfig.get_config_var("py_version_nodot"),
                                   re.sub(r"[-.]", "_", sysconfig.get_platform()))
    info = f"metafuse-{_version()}.dist-info"
    module = _module()
    files = {f"metafuse/{path.name}": path.read_bytes()
             for path in sorted((HERE / "metafuse").iterdir()) if path.suffix in (".py", ".typed")}
    files[f"metafuse/{module.name}"] = module.read_bytes()
    files["metafuse/libmetafuse.so.0"] = (_build() / "library" / "libmetafuse.so.0").read_bytes()
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: metafuse\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[record] = "\n".join(rows + [f"{record},,", ""]).encode()
    name = f"metafuse-{_version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # without a time stamp: equal builds make equal wheels
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content)
    return name


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
