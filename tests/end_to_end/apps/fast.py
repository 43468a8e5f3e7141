from fastapi import FastAPI

app = FastAPI()


@app.get("/")
async def hello() -> dict:
    import os
    return {"framework": "fastapi", "pid": os.getpid()}
