"""What the master tells a fork server: the JSON object of docs/fork-protocol.md, read from a memfd."""
import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from .contract import CONTRACT_VERSION, RELEASE, ContractError


class Listener(NamedTuple):
    fd: int
    address: str  # as a person writes it
    family: str  # inet, inet6, unix


class Settings(NamedTuple):
    master_pid: int
    app: str
    preload: str  # on, strict, off
    post_fork: Optional[str]
    worker_class: str
    server_options: Dict[str, str]
    listeners: List[Listener]
    internal_fd: Optional[int]
    sidecar_fd: Optional[int]
    keep_alive_seconds: float
    graceful_timeout_seconds: float
    timeout_seconds: float
    request_timeout_seconds: float  # 0: off
    backlog: int
    threads: Optional[int]
    log_level: str
    access_logfile: Optional[str]
    forwarded_allow_ips: Optional[str]
    root_path: Optional[str]
    certfile: Optional[str]
    keyfile: Optional[str]
    idle_ignore: List[str]
    spares: bool

    def fds(self) -> List[int]:
        """Of the public doors, then the internal one, then the sidecar's."""
        others = [fd for fd in (self.internal_fd, self.sidecar_fd) if fd is not None]
        return [listener.fd for listener in self.listeners] + others


def read(fd: int) -> Settings:
    """Reads and closes the memfd. Its offset is shared with the master, so it is left alone."""
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    os.close(fd)
    return understand(json.loads(content))


def understand(given: Dict[str, Any]) -> Settings:
    if given.get("version") != CONTRACT_VERSION:
        raise ContractError("the settings have version %r; this fork server knows version %d alone"
                            % (given.get("version"), CONTRACT_VERSION))
    if given.get("release") != RELEASE:
        raise ContractError("the master is moult %s, its Python part is of moult %s: another release was installed "
                            "over the one that runs. Restart moult" % (given.get("release"), RELEASE))
    missing = [name for name in Settings._fields if name not in given]
    if missing:
        raise ContractError("the settings lack %s" % ", ".join(missing))
    known = {name: given[name] for name in Settings._fields}
    known["listeners"] = [Listener(one["fd"], one["address"], one["family"]) for one in known["listeners"]]
    return Settings(**known)
