"""What the scripts of this folder say when they cannot run; a module, not a program."""
import importlib
import shutil
import sys


def arguments(document, least, most=None):
    """The command line's arguments. Prints `document`, a script's docstring, and ends the script when they are fewer than
    `least`, more than `most`, or ask for help."""
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(document.strip())
        sys.exit(0)
    if len(given) < least or (most is not None and len(given) > most):
        sys.exit(document.strip())
    return given


def module(name, package):
    """The module of that name; ends the script, naming what brings it, when this Python does not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        sys.exit(f"{sys.argv[0]}: the module {name} is missing from {sys.executable}: {package}")


def program(name, package):
    """The program of that name; ends the script, naming what brings it, when this machine does not have it."""
    if shutil.which(name) is None:
        sys.exit(f"{sys.argv[0]}: the program {name} is missing: install Debian's {package}")
    return name
