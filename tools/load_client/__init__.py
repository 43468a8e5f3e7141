"""A strict HTTP client that makes load. No request is repeated, each answer is checked whole, each failure has a class.

    python3 -m tools.load_client URL --connections 32 --blind --mix get=1,post=1 --seconds 60

Raw sockets, because libraries reconnect and repeat on the quiet, which is what is to be seen here. The server that is
asked must run echo_app.py, this folder's ASGI and WSGI app: it sends back what it was sent.
"""
