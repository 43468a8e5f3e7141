"""Makes `import moult` work in the app (public.py), after everything else that might be found under that name."""
import importlib.util
import os
import sys
from typing import Any

_NAME = "moult"
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "public.py")


class _FoundLast:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_file_location(_NAME, _FILE) if name == _NAME else None


def offer() -> None:
    sys.meta_path.append(_FoundLast)  # type: ignore[arg-type]
