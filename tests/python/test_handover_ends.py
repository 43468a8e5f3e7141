"""Connections that end with their worker, though it hands over: declined, too late, or nobody will adopt them."""
from http_client import Connection
from master import until


def test_one_that_is_declined_after_its_app_left_a_body_is_served_on(server, parking, worker):
    parking.most = 0
    with Connection(server.port) as client:
        client.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234")
        assert client.answer().status == 200
        client.socket.sendall(b"56789")
        parking.retire(worker)
        until(lambda: parking.counts["declined"], "it is declined")
        answer = client.get("/")
        assert answer.status == 200 and answer.headers["connection"] == "close" and client.is_closed()
        assert worker.gone() == 0 and parking.statuses == []
