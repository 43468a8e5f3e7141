"""Apps that a test rewrites while moult runs: each says which version it is."""

_APP = '''
import asyncio, os, traceback
{top}
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        try:
            {startup}
        except Exception:
            await send({{"type": "lifespan.startup.failed", "message": traceback.format_exc()}})
            return
        await send({{"type": "lifespan.startup.complete"}})
        await receive()
        await send({{"type": "lifespan.shutdown.complete"}})
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}})
    await send({{"type": "http.response.body", "body": {version!r}.encode()}})
'''


def version(name: str, top: str = "", startup: str = "pass") -> str:
    """The text of app.py. `top` runs at import, `startup` in each worker before it is ready."""
    return _APP.format(version=name, top=top, startup=startup)


BROKEN_IMPORT = version("broken", top="raise ValueError('the shelf is empty')")
BROKEN_STARTUP = version("broken", startup="raise ValueError('the cupboard is bare')")
HANGING_STARTUP = version("hanging", startup="await asyncio.sleep(1000)")
