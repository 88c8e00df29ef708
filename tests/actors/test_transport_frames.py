"""Frames and answers: sealed, bounded, and never half believed."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen_agent.actors.frames import ACK_BYTES, HEADER_BYTES, Answer, BadFrame, FrameReader, Seal

KEY = bytes(range(32))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets; the second one does not block."""
    left, right = socket.socketpair()
    right.setblocking(False)
    with left, right:
        yield left, right


@settings(deadline=None)
@given(bodies=st.lists(st.binary(max_size=3000), min_size=1, max_size=4), cuts=st.lists(st.integers(1, 997)))
def test_round_trip(bodies: list[bytes], cuts: list[int]) -> None:
    """Whatever pieces they arrive in, bodies come out as they went in, each once and in order."""
    seal = Seal(KEY)
    data = b"".join(seal.frame(body).data for body in bodies)
    reader, got = FrameReader(Seal(KEY)), []
    left, right = socket.socketpair()
    right.setblocking(False)
    with left, right:
        while data:
            size = cuts.pop() if cuts else len(data)
            left.sendall(data[:size])
            data = data[size:]
            while (frame := reader.read(right)) is not None:
                got.append(bytes(frame[0]))
    assert got == bodies


@given(body=st.binary(max_size=200), place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_change_is_noticed(body: bytes, place: int, bit: int) -> None:
    """A frame with any one bit changed yields nothing but `BadFrame` or waiting."""
    data = bytearray(Seal(KEY).frame(body).data)
    data[place % len(data)] ^= 1 << bit
    left, right = socket.socketpair()
    right.setblocking(False)
    with left, right:
        left.sendall(data)
        with pytest.raises(BadFrame):
            FrameReader(Seal(KEY)).read(right)


def test_another_key(pair: tuple[socket.socket, socket.socket]) -> None:
    """A frame sealed with another key is refused at its header."""
    left, right = pair
    left.sendall(Seal(b"another key of some length").frame(b"body").data[:HEADER_BYTES])
    reader = FrameReader(Seal(KEY))
    with pytest.raises(BadFrame):
        reader.read(right)
    assert not reader.authentic


def test_announcing_is_not_believed(pair: tuple[socket.socket, socket.socket]) -> None:
    """A stranger who announces 10 GB makes nobody allocate anything."""
    left, right = pair
    left.sendall((10 << 30).to_bytes(8, "big") + bytes(HEADER_BYTES - 8))
    tracemalloc.start()
    try:
        with pytest.raises(BadFrame):
            FrameReader(Seal(KEY)).read(right)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_end_of_connection(pair: tuple[socket.socket, socket.socket]) -> None:
    """A connection that ends within a frame is an end, and no frame."""
    left, right = pair
    left.sendall(Seal(KEY).frame(b"body").data[:-1])
    reader = FrameReader(Seal(KEY))
    assert reader.read(right) is None
    left.shutdown(socket.SHUT_WR)
    with pytest.raises(EOFError):
        reader.read(right)


@pytest.mark.parametrize("answer", list(Answer))
def test_answers_belong_to_a_frame(answer: Answer) -> None:
    """An answer is believed for the frame it was given to, and for no other."""
    seal = Seal(KEY)
    one, other = seal.frame(b"one"), seal.frame(b"other")
    data = seal.answer(answer, one.digest)
    assert len(data) == ACK_BYTES
    assert seal.open_answer(data, one.digest) is answer
    with pytest.raises(BadFrame):
        seal.open_answer(data, other.digest)


@pytest.mark.parametrize("key", [b"", b"short", bytes(65)])
def test_keys_that_protect_nothing(key: bytes) -> None:
    """A key that is too short to protect, or too long to be used, is refused by name."""
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        Seal(key)


def test_nothing_is_shown() -> None:
    """The repr of a frame shows nothing of its body."""
    assert "secret" not in repr(Seal(KEY).frame(b"secret"))
