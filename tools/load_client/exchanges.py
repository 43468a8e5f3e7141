"""The requests that a client can make, what it writes for each, and what it must get back. Pure but for the dice."""
from random import Random
from typing import Callable, Dict, List, NamedTuple

from tools.load_client.echo_app import pattern

SMALL_BYTES = 200
LARGE_BYTES = 1024 * 1024
MOST_SPLITS = 4


class Exchange(NamedTuple):
    kind: str
    writes: List[bytes]  # each by a write of its own
    bodies: List[bytes]  # of the answers, in order: one, or two if pipelined
    slowly: bool = False  # read slowly
    timed: bool = True  # False where the client itself takes its time


class Maker:
    """Makes the exchanges of one client. No token is used twice, so that an answer to somebody else is found out."""

    def __init__(self, client: str, host: str, closing: bool, dice: Random) -> None:
        self.client, self.dice, self.made = client, dice, 0
        self.host, self.closing = host, closing

    def make(self, kind: str) -> Exchange:
        return KINDS[kind](self, kind)

    def head(self, method: str, path: str, last: bool, *headers: str) -> bytes:
        """`last`: the client, if it is one that closes, asks nothing more on this connection."""
        ending = ["Connection: close"] if self.closing and last else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {self.host}", *ending, *headers, "", ""]).encode()

    def token(self) -> str:
        self.made += 1
        return f"{self.client}.{self.made}"

    def get(self, kind: str, size: int = SMALL_BYTES, path: str = "echo", last: bool = True, **more) -> Exchange:
        token = self.token()
        return Exchange(kind, [self.head("GET", f"/{path}/{size}/{token}", last)], [pattern(token, size)], **more)

    def post(self, kind: str, size: int = SMALL_BYTES, last: bool = True) -> Exchange:
        body = pattern(self.token(), size)
        head = self.head("POST", "/echo", last, "Content-Type: application/octet-stream", f"Content-Length: {size}")
        return Exchange(kind, [head + body], [body])

    def either(self, kind: str, last: bool = True) -> Exchange:
        return self.post(kind, last=last) if self.dice.random() < 0.5 else self.get(kind, last=last)

    def pipelined(self, kind: str) -> Exchange:
        first, second = self.either(kind, last=False), self.either(kind)
        return Exchange(kind, [first.writes[0] + second.writes[0]], first.bodies + second.bodies)

    def split(self, kind: str) -> Exchange:
        """Anywhere: in the request line, in a header, between head and body."""
        whole = self.either(kind)
        text = whole.writes[0]
        cuts = sorted(self.dice.sample(range(1, len(text)), self.dice.randint(1, MOST_SPLITS)))
        return whole._replace(writes=[text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])], timed=False)


KINDS: Dict[str, Callable[[Maker, str], Exchange]] = {
    "get": Maker.get,
    "post": Maker.post,
    "get-large": lambda maker, kind: maker.get(kind, LARGE_BYTES),
    "post-large": lambda maker, kind: maker.post(kind, LARGE_BYTES),  # and so is the answer
    "get-chunked": lambda maker, kind: maker.get(kind, path="stream"),
    "pipelined": Maker.pipelined,
    "split": Maker.split,
    "slow-reader": lambda maker, kind: maker.get(kind, LARGE_BYTES, slowly=True, timed=False),
}
ALL = "get=40,post=40,get-chunked=5,pipelined=6,split=6,get-large=1,post-large=1,slow-reader=1"


def mix_of(text: str) -> Dict[str, float]:
    """"get=1,post=1" or "all" as weights by kind. ValueError says what is wrong with it."""
    mix: Dict[str, float] = {}
    for word in (ALL if text == "all" else text).split(","):
        kind, _, weight = word.partition("=")
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind!r} of request; there are {', '.join(KINDS)}, and all")
        try:
            mix[kind] = float(weight or "1")
        except ValueError:
            mix[kind] = -1.0
        if not 0 <= mix[kind] < float("inf"):
            raise ValueError(f"{word!r}: the weight is to be a number from 0, as in get=2,post=1")
    if not any(mix.values()):
        raise ValueError(f"{text!r}: one weight at least is to be more than 0")
    return mix
