"""moult's settings and --server-option in the words of uvicorn.Config, whatever its version."""
import importlib.util
import inspect
import sys
from typing import Any, Dict

from . import options
from .failure import Refused
from .settings import Settings

# What each option of these would undo, and what to say instead.
_OWNED = {
    "app": "it is moult's argument", "factory": "say MODULE:FACTORY()", "host": "-b", "port": "-b", "uds": "-b",
    "fd": "-b fd://N", "workers": "-w", "reload": "moult reload", "env_file": "--env-file",
    "callback_notify": "--timeout", "timeout_notify": "--timeout", "access_log": "--access-logfile",
    "limit_max_requests": "--max-requests", "limit_max_requests_jitter": "--max-requests-jitter",
    "timeout_graceful_shutdown": "--graceful-timeout", "timeout_worker_healthcheck": "--timeout",
    "timeout_keep_alive": "--keep-alive", "log_level": "--log-level", "backlog": "--backlog",
    "ssl_certfile": "--certfile", "ssl_keyfile": "--keyfile", "root_path": "--root-path",
    "forwarded_allow_ips": "--forwarded-allow-ips", "debug": "leave it out",
}
_NEEDS_CODE = ("log_config_dict", "ssl_context_factory")
_PACKAGES = {"uvloop": "uvloop", "httptools": "httptools", "h11": "h11", "websockets": "websockets",
             "websockets-sansio": "websockets", "wsproto": "wsproto", "zuvloop": "zuvloop", "zttp": "zttp"}


def config_arguments(config_class: Any, told: Settings, version: str) -> Dict[str, Any]:
    """The keyword arguments of uvicorn.Config, but for the app. Raises Refused."""
    parameters = dict(inspect.signature(config_class.__init__).parameters)
    arguments: Dict[str, Any] = {}
    for given, text in told.server_options.items():
        name = given.lstrip("-").replace("-", "_")
        if name in _OWNED or name.startswith("reload_"):
            raise options.owned(given, _OWNED.get(name, "moult reload"))
        if name == "header":
            arguments["headers"] = [_header(given, text)]
        elif name not in parameters or name in ("self", "headers") + _NEEDS_CODE:
            raise options.unknown("uvicorn %s" % version, given, set(parameters) - {"self"} - set(_OWNED))
        else:
            arguments[name] = _converted(given, text, parameters[name])
    for choice in ("loop", "http", "ws"):
        _require(choice, str(arguments.get(choice, "")))
    arguments.update(
        log_level=told.log_level,
        access_log=told.access_logfile is not None,
        timeout_keep_alive=max(1, round(told.keep_alive_seconds)),
        backlog=told.backlog,
        root_path=told.root_path or "",
        forwarded_allow_ips=told.forwarded_allow_ips,
        ssl_certfile=told.certfile,
        ssl_keyfile=told.keyfile,
    )
    return arguments


def _converted(name: str, text: str, parameter: inspect.Parameter) -> Any:
    """By the type of the default; where that is None, by the words of the annotation."""
    default = parameter.default
    if default is None:
        annotation = str(parameter.annotation)
        kinds = [kind for kind in (bool, int, float) if kind.__name__ in annotation and "str" not in annotation]
        kind = kinds[0] if kinds else str
    else:
        kind = type(default)
    if kind is bool:
        return options.boolean(name, text)
    if issubclass(kind, int):
        return options.number(name, text, int)
    if kind is float:
        return options.number(name, text, float)
    return text


def _header(name: str, text: str) -> Any:
    key, colon, value = text.partition(":")
    if not colon:
        raise Refused("--server-option %s=%s: say NAME:VALUE" % (name, text))
    return (key.strip(), value.strip())


def _require(option: str, choice: str) -> None:
    package = _PACKAGES.get(choice)
    if package and importlib.util.find_spec(package) is None:
        raise Refused("--server-option %s=%s needs %s, which %s does not have: %s -m pip install %s"
                      % (option, choice, package, sys.executable, sys.executable, package))
