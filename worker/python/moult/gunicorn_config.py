"""gunicorn's configuration as gunicorn itself reads it, without its arbiter.

In rising order: its defaults, gunicorn.conf.py (or --server-option config=FILE), GUNICORN_CMD_ARGS, --server-option,
and moult's own flags, which win.
"""
import contextlib
import io
import sys
from typing import Any, List

from gunicorn import __version__
from gunicorn.app.wsgiapp import WSGIApplication

from . import options
from .failure import Refused
from .settings import Settings

_OWNED = {
    "bind": "-b", "workers": "-w", "worker_class": "-k", "daemon": "leave it out", "pidfile": "--pid",
    "user": "--user", "group": "--group", "umask": "--umask", "chdir": "--chdir", "reload": "moult reload",
    "preload_app": "--preload", "max_requests": "--max-requests", "max_requests_jitter": "--max-requests-jitter",
    "timeout": "--timeout", "graceful_timeout": "--graceful-timeout", "keepalive": "--keep-alive",
    "backlog": "--backlog", "loglevel": "--log-level", "accesslog": "--access-logfile", "threads": "--threads",
    "certfile": "--certfile", "keyfile": "--keyfile", "forwarded_allow_ips": "--forwarded-allow-ips",
    "root_path": "--root-path", "wsgi_app": "it is moult's argument", "paste": "leave it out",
}


class HostedApplication(WSGIApplication):
    """Reads the configuration; the app is moult's to load, and is handed over by take_app()."""

    def __init__(self, told: Settings, worker_class: str) -> None:
        self._told = told
        self._worker_class = worker_class
        self.app: Any = None
        printed = io.StringIO()
        try:
            with _arguments(self._argv()), contextlib.redirect_stderr(printed):
                super().__init__("%(prog)s [OPTIONS] [APP_MODULE]", prog="gunicorn")
        except SystemExit:  # a bad file or a bad argument: gunicorn has printed what it is
            raise Refused("gunicorn refuses its configuration: %s" % printed.getvalue().strip()) from None
        sys.stderr.write(printed.getvalue())

    def do_load_config(self) -> None:
        self.load_default_config()
        try:
            self.load_config()
            self._apply_server_options()
            self._apply_flags()
            self.cfg.validate() if hasattr(self.cfg, "validate") else None
        except (Refused, SystemExit):
            raise
        except Exception as error:
            raise Refused("gunicorn refuses its configuration: %s" % error) from error

    def load(self) -> Any:
        return self.app

    def _argv(self) -> List[str]:
        config = self._told.server_options.get("config")
        return ["gunicorn"] + (["--config", config] if config else []) + [self._told.app]

    def _apply_server_options(self) -> None:
        for given, text in self._told.server_options.items():
            name = given.lstrip("-").replace("-", "_")
            if name == "config":
                continue
            if name in _OWNED:
                raise options.owned(given, _OWNED[name])
            if name not in self.cfg.settings:
                raise options.unknown("gunicorn %s" % __version__, given, set(self.cfg.settings) - set(_OWNED))
            try:
                self.cfg.set(name, text)
            except Exception as error:
                raise Refused("--server-option %s=%s: %s" % (given, text, error)) from None

    def _apply_flags(self) -> None:
        told, cfg = self._told, self.cfg
        cfg.set("bind", [])
        cfg.set("workers", 2)  # there may be several: what an app is told by wsgi.multiprocess
        cfg.set("worker_class", self._worker_class)
        cfg.set("timeout", max(1, round(told.timeout_seconds)))
        cfg.set("graceful_timeout", max(1, round(told.graceful_timeout_seconds)))
        cfg.set("keepalive", max(1, round(told.keep_alive_seconds)))
        cfg.set("backlog", told.backlog)
        cfg.set("loglevel", told.log_level)
        cfg.set("max_requests", 0)  # moult replaces workers
        for name, value in (("threads", told.threads), ("accesslog", told.access_logfile),
                            ("forwarded_allow_ips", told.forwarded_allow_ips), ("certfile", told.certfile),
                            ("keyfile", told.keyfile)):
            if value is not None:
                cfg.set(name, value)
        if told.root_path is not None and "root_path" in cfg.settings:
            cfg.set("root_path", told.root_path)


@contextlib.contextmanager
def _arguments(argv: List[str]) -> Any:
    """gunicorn reads sys.argv, and nothing else can be given to it."""
    ours, sys.argv = sys.argv, argv
    try:
        yield
    finally:
        sys.argv = ours
