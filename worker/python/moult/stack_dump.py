"""SIGABRT prints the stack of every Python thread to stderr, then the process dies of it.

The handler is C: it runs at once, also when a C extension holds the interpreter lock and no Python handler could.
"""
import faulthandler

_STDERR = 2  # the number, not sys.stderr: an app may have put anything there


def arm() -> None:
    """Again and again, if need be: whoever sets SIGABRT (gunicorn's workers do) has taken the handler away."""
    faulthandler.disable()
    faulthandler.enable(_STDERR, all_threads=True)
