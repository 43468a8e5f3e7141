"""A strict HTTP client that makes load. No request is repeated, each answer is checked whole, each failure has a class.

    python3 -m tools.load_client URL --connections 32 --blind --mix get=1,post=1 --seconds 60
    python3 -m tools.load_client unix:/run/app.sock --connections 0 --fresh 4 --until-file /tmp/end --json

URL is http://HOST:PORT or unix:PATH; tools.load_client.echo_app is to be served there. Exit: 0 nothing failed and
nothing was closed while idle; 1 something was, or nothing was asked; 2 bad usage; 3 the client itself could not go on.
"""
import argparse
import json
import sys

from tools.load_client.client import Plan
from tools.load_client.connection import Endpoint, OwnTrouble
from tools.load_client.crowd import run
from tools.load_client.exchanges import KINDS, mix_of
from tools.load_client.tally import in_words


def checked(convert, check, wanted: str):
    def parse(text: str):
        try:
            value = convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if not check(value):
            raise argparse.ArgumentTypeError(f"{text} is not {wanted}")
        return value
    return parse


def milliseconds(text: str) -> "tuple[float, float]":
    low, _, high = text.partition("-")
    return float(low) / 1000, float(high or low) / 1000


def plan_of(arguments: "list[str] | None" = None) -> "tuple[Plan, bool]":
    """And whether JSON is wanted."""
    count = checked(int, lambda value: value >= 0, "a number from 0")
    positive = checked(int, lambda value: value >= 1, "a number from 1")
    seconds = checked(float, lambda value: 0 < value < 1e9, "a number of seconds")
    parser = argparse.ArgumentParser(prog="tools.load_client", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", type=checked(Endpoint.parse, bool, "a URL"))
    parser.add_argument("--connections", type=count, default=32, help="clients that keep theirs (32)")
    parser.add_argument("--fresh", type=count, default=0, help="clients that make one a request, flat out (0)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--blind", action="store_true", help="never read before writing")
    how.add_argument("--watching", action="store_true", help="read between requests: see a close before writing "
                                                             "(this is how it is without --blind)")
    parser.add_argument("--mix", type=checked(mix_of, bool, "a mix"), default="get=1,post=1",
                        help=f"kinds of requests and their weights: {', '.join(KINDS)}; or all (get=1,post=1)")
    parser.add_argument("--think", type=checked(milliseconds, lambda value: 0 <= value[0] <= value[1], "LOW-HIGH"),
                        default="5-50", metavar="LOW-HIGH", help="milliseconds before each request (5-50)")
    parser.add_argument("--timeout", type=seconds, default=30.0, help="seconds for each connection and request (30)")
    parser.add_argument("--seconds", type=seconds, help="how long")
    parser.add_argument("--until-file", metavar="FILE", help="until this file is there")
    parser.add_argument("--exchanges", type=positive, help="how many each client makes; a pipelined pair is one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=positive, default=1, help="share the clients among so many (1)")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of words")
    given = parser.parse_args(arguments)
    if given.seconds is None and given.until_file is None and given.exchanges is None:
        parser.error("when does it end? Say --seconds, --until-file or --exchanges")
    if given.connections + given.fresh == 0:
        parser.error("nobody would ask: --connections and --fresh are both 0")
    plan = Plan(endpoint=given.url, mix=given.mix, connections=given.connections, fresh=given.fresh, blind=given.blind,
                think_seconds=given.think, timeout_seconds=given.timeout, seconds=given.seconds,
                until_file=given.until_file, exchanges=given.exchanges, seed=given.seed, processes=given.processes)
    return plan, given.json


def main() -> int:
    plan, as_json = plan_of()
    try:
        tally = run(plan)
    except OwnTrouble as trouble:
        print(f"load_client: {trouble}", file=sys.stderr)
        return 3
    seen = tally.as_json()
    print(json.dumps(seen) if as_json else in_words(seen), flush=True)
    if not as_json:
        for example in tally.examples:
            print(f"  {example}")
    return 0 if tally.clean else 1


if __name__ == "__main__":
    sys.exit(main())
