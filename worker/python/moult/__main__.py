"""Entry point: PYTHON <folder>/moult --channel-fd N --settings-fd M, the fork server; or, with --check-settings first,
a look at the settings alone.

Python puts the folder of this file first in sys.path; there our modules would hide the user's. So this package is
loaded by its place and under a name that nobody has ("_moult"), the folder leaves sys.path, and the working directory
takes its place, as `python -m uvicorn` and gunicorn have it.
"""
import importlib
import importlib.util
import os
import sys

PACKAGE = "_moult"


def load_own_package(folder: str) -> None:
    where = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(PACKAGE, where, submodule_search_locations=[folder])
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def main() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    load_own_package(folder)
    checks_only = sys.argv[1:2] == ["--check-settings"]
    program = importlib.import_module(PACKAGE + (".settings_check" if checks_only else ".fork_server"))
    working_directory = os.getcwd()
    elsewhere = [path for path in sys.path if os.path.abspath(path) not in (folder, working_directory)]
    sys.path[:] = [working_directory] + elsewhere
    program.main(sys.argv[1:])


if __name__ == "__main__":
    main()
