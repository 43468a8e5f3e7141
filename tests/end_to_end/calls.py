"""One moult with a schedule: what its app was asked (apps/called.py), and what moult says of it."""
import json
from pathlib import Path
from typing import Callable, Dict, List, Optional

from events import Events
from harness import Moult

MARK = "moult.scheduled_call"
NEVER = {"cron": "0 0 29 2 *"}  # for calls that are made by hand only


def entry(name: str = "poll", path: str = "/", **more) -> dict:
    when = {} if "cron" in more else {"every": 1}
    return {"name": name, "path": path, **when, **more}


class Calls:
    def __init__(self, start: Callable[..., Moult], scratch: Path, schedule: List[dict], *flags: str,
                 app: str = "called:app", env: Dict[str, str] = {}, **more) -> None:
        name = more.get("name", "moult")
        config = scratch / f"{name}.json"
        config.write_text(json.dumps({"schedule": schedule}))
        self.file = scratch / f"{name}.calls"
        self.file.touch()
        self.events = Events(scratch / f"{name}.jsonl")
        what = [app] if app else []
        self.moult = start(*self.events.flags, "-c", str(config), *flags, *what, env={"CALLS": str(self.file), **env},
                           **more)

    def seen(self, what: str = "begins") -> List[dict]:
        """What the app was asked by the schedule, in order."""
        lines = [json.loads(line) for line in self.file.read_text().split("\n")[:-1]]
        return [line for line in lines if line["what"] == what and "x-moult-schedule-at" in line["headers"]]

    def ended(self, name: str = "", **fields) -> List[dict]:
        found = [event for event in self.events.all("scheduled_call") if not name or event["name"] == name]
        return [event for event in found if fields.items() <= event.items()]

    def wait_ended(self, count: int, name: str = "", **fields) -> List[dict]:
        def enough() -> Optional[List[dict]]:
            found = self.ended(name, **fields)
            return found if len(found) >= count else None
        return self.moult.wait_for(enough, f"{count} calls ended {name} {fields}")

    def schedule(self) -> Dict[str, dict]:
        return {each["name"]: each for each in self.moult.status().get("schedule", [])}


def due_of(line: dict) -> str:
    return line["headers"]["x-moult-schedule-at"]
