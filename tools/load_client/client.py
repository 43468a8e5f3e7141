"""One client: it connects, thinks, asks, checks, and notes what became of it. It never asks twice."""
import asyncio
import time
from random import Random
from typing import Dict, NamedTuple, Optional

from tools.load_client.answers import Answer
from tools.load_client.connection import Broken, Connection, Endpoint
from tools.load_client.exchanges import Exchange, Maker
from tools.load_client.tally import Failure, Tally

PAUSE_AFTER_REFUSAL_SECONDS = 0.01  # who has no connection cannot be quick


class Plan(NamedTuple):
    """What all clients of a run have in common."""
    endpoint: Endpoint
    mix: Dict[str, float]  # weights by kind
    connections: int = 32  # clients that keep theirs
    fresh: int = 0  # clients that make one a request, without a thought between
    blind: bool = False  # True: never reads before it writes. False: looks all the time between two requests
    think_seconds: "tuple[float, float]" = (0.005, 0.05)  # before each request, from .. to
    timeout_seconds: float = 30.0  # for a connection, and for an exchange
    seconds: Optional[float] = None  # how long; None: until the other ends below
    until_file: Optional[str] = None  # ends when this file is there
    exchanges: Optional[int] = None  # each client ends after so many
    seed: int = 1
    processes: int = 1


class Ending:
    """`over` is looked at before each request; what is in flight then is waited for."""
    over = False


class Client:
    def __init__(self, plan: Plan, number: int, fresh: bool, tally: Tally, ending: Ending) -> None:
        self.plan, self.number, self.fresh, self.tally, self.ending = plan, number, fresh, tally, ending
        self.dice = Random(f"{plan.seed}/{number}")
        self.maker = Maker(f"{plan.seed}.{number}", plan.endpoint.host, fresh, self.dice)
        self.exchanges_left = plan.exchanges if plan.exchanges is not None else float("inf")

    async def live(self) -> None:
        while not self.over():
            began = time.monotonic()
            connection = Connection(self.plan.endpoint)
            try:
                if await self.connect(connection):
                    await self.use(connection, began)
                else:
                    await asyncio.sleep(PAUSE_AFTER_REFUSAL_SECONDS)
            finally:
                connection.close()

    def over(self) -> bool:
        return self.ending.over or self.exchanges_left <= 0

    async def connect(self, connection: Connection) -> bool:
        try:
            async with asyncio.timeout(self.plan.timeout_seconds):
                await connection.connect()
        except (Broken, TimeoutError) as error:
            failure = error.failure if isinstance(error, Broken) else Failure.TIMEOUT
            self.exchanges_left -= 1
            self.tally.requests += 1
            self.tally.kinds["connect"] += 1
            self.fail(connection, failure, "connect", 0, str(error) or "no connection in time")
            return False
        self.tally.connections += 1
        return True

    async def use(self, connection: Connection, began: float) -> None:
        """Until one of the two closes it."""
        asked = 0
        while not self.over():
            if not self.fresh and await self.closed_while_thinking(connection, asked):
                return
            if self.ending.over:
                return
            exchange = self.maker.make(self.dice.choices(list(self.plan.mix), list(self.plan.mix.values()))[0])
            self.exchanges_left -= 1
            goes_on = await self.ask(connection, exchange, asked, began if self.fresh else time.monotonic())
            asked += 1
            if not goes_on or self.fresh:
                return

    async def closed_while_thinking(self, connection: Connection, asked: int) -> bool:
        thinks = self.dice.uniform(*self.plan.think_seconds)
        if self.plan.blind:
            await asyncio.sleep(thinks)
            return False
        seen = await connection.look(thinks)
        if seen:
            self.tally.unasked += 1
            self.fail(connection, Failure.WRONG_ANSWER, "none", asked, f"unasked: {seen[:80]!r}")
        elif seen is not None:
            self.tally.idle_closes += 1
        return seen is not None

    async def ask(self, connection: Connection, exchange: Exchange, asked: int, began: float) -> bool:
        """Whether the connection can be used again."""
        tally, count = self.tally, len(exchange.bodies)
        tally.requests += count
        tally.kinds[exchange.kind] += count
        done = 0  # of the requests of this exchange
        try:
            async with asyncio.timeout(self.plan.timeout_seconds):
                if exchange.slowly:
                    connection.take_in_advance(slowly=True)
                await connection.write(exchange.writes)
                while done < count:
                    answer = await connection.read_answer(exchange.slowly)
                    self.check(connection, answer, exchange.bodies[done], last=done == count - 1)
                    done += 1
                    self.note_answer(connection, exchange, answer, asked, time.monotonic() - began)
                    if answer.closes:
                        break
                if exchange.slowly:
                    connection.take_in_advance(slowly=False)
        except (Broken, TimeoutError) as error:
            failure = error.failure if isinstance(error, Broken) else Failure.TIMEOUT
            self.fail(connection, failure, exchange.kind, asked, str(error) or "no whole answer in time")
            done += 1
            answer = None
        for _ in range(count - done):
            self.fail(connection, Failure.UNANSWERED, exchange.kind, asked, "pipelined")
        return answer is not None and not answer.closes

    def check(self, connection: Connection, answer: Answer, body: bytes, last: bool) -> None:
        """Broken(WRONG_ANSWER). An error of the server is none."""
        wrong = ""
        if not 500 <= answer.status <= 599:
            if answer.status != 200:
                wrong = f"status {answer.status}: {answer.body[:80]!r}"
            elif answer.body != body:
                wrong = f"{len(answer.body)} bytes {answer.body[:40]!r} instead of {len(body)} {body[:40]!r}"
        if not wrong and last and connection.parser.begun:
            wrong = f"bytes behind the answer: {bytes(connection.parser.buffer[:80])!r}"
        if wrong:
            raise Broken(Failure.WRONG_ANSWER, wrong)

    def note_answer(self, connection: Connection, exchange: Exchange, answer: Answer, asked: int,
                    seconds: float) -> None:
        tally = self.tally
        if answer.closes and not self.fresh:
            tally.announced_closes += 1
        if answer.status != 200:
            self.fail(connection, Failure.SERVER_ERROR, exchange.kind, asked, f"{answer.status}: {answer.body[:80]!r}")
            return
        tally.answered += 1
        if exchange.timed:
            tally.latencies.add(seconds)
        worker = answer.headers.get("x-worker")
        tally.moved += connection.worker is not None and worker != connection.worker
        connection.worker = worker

    def fail(self, connection: Connection, failure: Failure, kind: str, asked: int, detail: str) -> None:
        self.tally.fail(failure, at=round(time.time(), 3), client=self.number, kind=kind, asked_before=asked,
                        worker=connection.worker, detail=detail)
