"""Runs the examples in the docstrings and on the pages; they must print what is written there."""
import doctest
import os
import pathlib
import tempfile

import metafuse
import metafuse._data
import metafuse.client

ROOT = pathlib.Path(__file__).resolve().parents[2]


def in_new_folder(test):
    test.globs["_folder"] = tempfile.TemporaryDirectory()
    os.chdir(test.globs["_folder"].name)


def back_again(test):
    os.chdir(pathlib.Path(__file__).parent)
    test.globs["_folder"].cleanup()


def load_tests(loader, tests, pattern):
    for module in (metafuse, metafuse._data, metafuse.client):
        tests.addTests(doctest.DocTestSuite(module))
    for page in ("python.md", "rag.md"):
        tests.addTests(doctest.DocFileSuite(str(ROOT / "docs" / page), module_relative=False, setUp=in_new_folder,
                                            tearDown=back_again, optionflags=doctest.ELLIPSIS))
    return tests
