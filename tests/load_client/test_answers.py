"""Answers out of bytes, however these come."""
import pytest

from tools.load_client.answers import MOST_BODY_BYTES, MOST_HEAD_BYTES, AnswerParser, Malformed

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5;note=1\r\nhello\r\n0A\r\n0123456789\r\n0\r\n\r\n"
UNTIL_CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello"


def parsed(*pieces: bytes):
    parser = AnswerParser()
    found = []
    for piece in pieces:
        parser.feed(piece)
        while answer := parser.next():
            found.append(answer)
    return found, parser


@pytest.mark.parametrize("text, body", [(PLAIN, b"hello"), (CHUNKED, b"hello0123456789"),
                                        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
                                        (b"HTTP/1.1 200\r\nContent-Length:0\r\n\r\n", b"")])
def test_an_answer_is_the_same_wherever_it_is_cut_into_pieces(text, body):
    for cut in range(len(text) + 1):
        found, parser = parsed(text[:cut], text[cut:])
        assert [(answer.body, answer.closes) for answer in found] == [(body, False)]
        assert not parser.begun
    assert len(parsed(*(text[at:at + 1] for at in range(len(text))))[0]) == 1


def test_what_follows_an_answer_belongs_to_the_next():
    found, parser = parsed(PLAIN + CHUNKED + PLAIN[:20])
    assert [answer.body for answer in found] == [b"hello", b"hello0123456789"]
    assert parser.begun


def test_every_true_beginning_of_an_answer_is_no_answer_yet_and_no_end_makes_it_one():
    for text in (PLAIN, CHUNKED):
        for cut in range(1, len(text)):
            found, parser = parsed(text[:cut])
            assert not found and parser.begun and parser.end() is None


def test_the_close_ends_an_answer_of_unsaid_length_and_is_announced_by_that():
    found, parser = parsed(UNTIL_CLOSED)
    assert not found
    answer = parser.end()
    assert (answer.body, answer.closes) == (b"hello", True)
    found, parser = parsed(UNTIL_CLOSED.replace(b"1.0", b"1.1"))
    assert parser.end().closes


@pytest.mark.parametrize("version, header, closes", [
    (b"1", b"Connection: close", True), (b"1", b"connection: Foo, CLOSE", True), (b"1", b"X: close", False),
    (b"1", b"Connection: keep-alive", False), (b"0", b"X: y", True), (b"0", b"Connection: Keep-Alive", False),
    (b"1", b"Connection: x\r\nConnection: close", True)])
def test_a_close_is_announced_by_the_connection_header_or_the_old_version(version, header, closes):
    found, _ = parsed(b"HTTP/1." + version + b" 200 OK\r\nContent-Length: 0\r\n" + header + b"\r\n\r\n")
    assert found[0].closes is closes


@pytest.mark.parametrize("text", [
    b"\r\n", b"HTTP/2 200 OK\r\n", b"HTTP/1.2 200 OK\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1  200 OK\r\n\r\n",
    b"<html>", b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", b"HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
    b"HTTP/1.1 200 OK\r\na : b\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 2000,
    f"HTTP/1.1 200 OK\r\nContent-Length: {MOST_BODY_BYTES + 1}\r\n\r\n".encode(),
    b"HTTP/1.1 200 OK\r\nX: " + b"x" * MOST_HEAD_BYTES,
    b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MOST_BODY_BYTES + 1)])
def test_what_is_no_answer_is_malformed(text):
    with pytest.raises(Malformed):
        parsed(text)
