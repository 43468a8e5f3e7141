"""The Python part of moult: a fork server and the adapters for uvicorn and gunicorn.

It runs under the user's own interpreter and needs the standard library alone; the servers are the user's.
"""
