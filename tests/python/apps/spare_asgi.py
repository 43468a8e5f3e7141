"""An app that says when it started and stopped, and by which process it is served."""
import os


def _note(word):
    with open(os.environ["SPARE_NOTES"], "a") as file:
        file.write("%s %d\n" % (word, os.getpid()))


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            _note(message["type"].split(".")[1])
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % os.getpid()})
