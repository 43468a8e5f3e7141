"""The event file of one moult: `--events FILE`, one JSON object a line."""
import json
from pathlib import Path
from typing import List


class Events:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def flags(self) -> List[str]:
        return ["--events", str(self.path)]

    def all(self, name: str = "") -> List[dict]:
        """Those of that name, or all; a line that is being written is left for the next look."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")[:-1]
        events = [json.loads(line) for line in lines if line]
        return [event for event in events if not name or event["event"] == name]
