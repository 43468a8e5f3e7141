"""A small FastAPI app: `moult run -w 3 app:app` in this folder."""
import os

from fastapi import FastAPI

GREETING = "hello"

# What an app loads at import: a table that is dear to build. With the app preloaded it is built once, and the workers
# share its pages.
SQUARES = {number: number * number for number in range(200_000)}

app = FastAPI()


@app.get("/")
async def greet() -> dict:
    return {"greeting": GREETING, "pid": os.getpid()}


@app.get("/square/{number}")
async def square(number: int) -> dict:
    return {"number": number, "square": SQUARES.get(number), "pid": os.getpid()}
