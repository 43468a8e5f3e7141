"""The Python side of the contract against the C++ headers, and against what a stranger might send."""
import os
import re
import socket

import master
import pytest
from moult import channel, contract, settings

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "worker")


def header(name):
    with open(os.path.join(HEADERS, name)) as file:
        return file.read()


def test_the_scoreboard_has_the_layout_of_the_header():
    text = header("scoreboard.h")
    body = re.sub(r"//[^\n]*", "", text[text.index("enum class ScoreboardField"):])
    fields = re.findall(r"\w+", body[body.index("{"):body.index("}")])
    assert fields[-1] == "count"
    ours = [name for name in fields[:-1] if hasattr(contract, name.upper())]
    assert ours == fields[:-1]
    assert [getattr(contract, name.upper()) for name in fields[:-1]] == list(range(len(fields) - 1))
    magic = re.search(r"scoreboard_magic = ([0-9a-fx']+)", text).group(1).replace("'", "")
    assert int(magic, 16) == contract.SCOREBOARD_MAGIC
    assert int(re.search(r"scoreboard_version = (\d+)", text).group(1)) == contract.SCOREBOARD_VERSION
    assert int(re.search(r"scoreboard_bytes = (\d+)", text).group(1)) == contract.SCOREBOARD_BYTES


def test_versions_and_bounds_are_those_of_the_headers():
    assert int(re.search(r"contract_version = (\d+)", header("fork_protocol.h")).group(1)) == contract.CONTRACT_VERSION
    text = header("message.h")
    assert "max_message_bytes = 64 * 1024" in text and contract.MAX_MESSAGE_BYTES == 64 * 1024
    assert "max_message_lines = 64" in text and contract.MAX_MESSAGE_LINES == 64
    assert "max_escaped_bytes = 32 * 1024" in text and contract.MAX_ESCAPED_BYTES == 32 * 1024


def test_a_message_is_read_as_it_was_built():
    lines = [("FORK", 7), ("SLOT", 0), ("EMPTY", "")]
    assert contract.parse(contract.build(lines)) == {"FORK": "7", "SLOT": "0", "EMPTY": ""}


def test_the_first_of_two_lines_with_one_key_counts_and_empty_lines_are_skipped():
    assert contract.parse(b"\nA=1\n\nA=2\nB=x=y\n") == {"A": "1", "B": "x=y"}


@pytest.mark.parametrize("datagram", [b"", b"\n", b"A", b"a=1", b"=1", b"A=\0", b"A=1\n" * 65, b"A=" + b"x" * 65536])
def test_a_datagram_that_is_no_message_is_refused(datagram):
    with pytest.raises(contract.ContractError, match="bad message"):
        contract.parse(datagram)


def test_a_value_with_a_newline_cannot_be_built():
    with pytest.raises(contract.ContractError):
        contract.build([("A", "1\nB=2")])


@pytest.mark.parametrize("text", ["", "one", "two\nlines", "back\\slash", "\\n is no newline", "nul\0", "ümläut\n"])
def test_escaped_text_comes_back(text):
    escaped = contract.escape(text)
    assert "\n" not in escaped and "\0" not in escaped
    assert contract.unescape(escaped) == text


@pytest.mark.parametrize("unit", ["a line\n", "\n", "\\", "é\n", "\ud800"])
def test_a_long_text_loses_its_beginning(unit):
    escaped = contract.escape(unit * 100000 + "the end")
    assert len(escaped.encode()) <= contract.MAX_ESCAPED_BYTES
    assert escaped.endswith("the end")
    assert len(escaped.encode()) > contract.MAX_ESCAPED_BYTES // 4


@pytest.mark.parametrize("index, value, word", [(0, 1, "magic"), (1, 2, "version")])
def test_another_scoreboard_is_refused(index, value, word):
    fd = master.make_scoreboard()
    os.pwrite(fd, value.to_bytes(8, "little"), index * 8)
    with pytest.raises(contract.ContractError, match=word):
        contract.open_scoreboard(fd)


def test_a_scoreboard_of_another_size_is_refused():
    fd = os.memfd_create("short")
    os.ftruncate(fd, 100)
    with pytest.raises(contract.ContractError, match="100 bytes"):
        contract.open_scoreboard(fd)


def test_settings_of_another_version_are_refused():
    with pytest.raises(contract.ContractError, match="version 2"):
        settings.understand({"version": 2})
    with pytest.raises(contract.ContractError, match="master_pid"):
        settings.understand({"version": 1, "release": contract.RELEASE})


def test_settings_of_another_release_are_refused_by_name():
    with pytest.raises(contract.ContractError, match=r"the master is moult 9\.0\.0.*Restart moult"):
        settings.understand({"version": 1, "release": "9.0.0"})


def test_the_channel_passes_messages_and_descriptors_and_notices_its_end():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end = channel.Channel(theirs.detach())
    master.say(ours, ("FORK", 1), fds=[0, 1])
    received = end.hear()
    assert received.message == {"FORK": "1"} and len(received.fds) == 2 and not received.fds_lost
    assert not any(os.get_inheritable(fd) for fd in received.fds)
    channel.close_all(received.fds)
    with pytest.raises(BlockingIOError):
        end.hear(wait=False)
    ours.send(b"nonsense")
    with pytest.raises(contract.ContractError):
        end.hear()
    ours.close()
    assert end.hear() is None
