"""A command's payload is in its pipe before the command is there."""

import os

import pytest

from sqlqd.command.streams import Streams


@pytest.mark.parametrize("size", [0, 1, 65_536])
def test_a_payload_that_the_pipe_holds_is_whole_before_the_command_starts(size: int) -> None:
    payload = b"p" * size
    streams = Streams(payload, 0.0)
    command = os.dup(streams.theirs[0])
    try:
        streams.close()
        with open(command, "rb", closefd=False) as got:
            assert got.read() == payload
    finally:
        os.close(command)
