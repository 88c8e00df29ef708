"""How the sockets of our transport are made: loopback unless told otherwise, never blocking, no delay.

The law: nothing listens on more than the one address it was given. This module must not know frames or
actors.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import select
import socket
import struct
import termios

Key = tuple[str, int]
"""Host and port a process listens on: its address, and the name of the lane to it."""

LISTEN_DEPTH = 1024

ANSWER_S = 0.02
"""How long the kernel may take to say that nobody listens on a port of this machine, in seconds."""

_KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


def listener(host: str, port: int) -> socket.socket:
    """A listening socket on exactly `host`; port 0 takes a free one. Raises `OSError` if it is taken."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(LISTEN_DEPTH)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def connection(key: Key) -> socket.socket:
    """A connection to `key`, open or on its way.

    Raises `ConnectionRefusedError` if nobody listens there, `OSError` if there is no way or no descriptor
    left.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        tune(sock, key[0])
        connected = True
        try:
            sock.connect(key)
        except BlockingIOError:
            connected = False
        # A port nobody listens on can be the one the kernel just chose for us: then we talk to ourselves.
        if connected and sock.getsockname() == sock.getpeername():
            raise ConnectionRefusedError
    except BaseException:
        sock.close()
        raise
    return sock


def refused(key: Key) -> bool:
    """Whether nobody listens at `key`; False where that is not known within `ANSWER_S`."""
    try:
        sock = connection(key)
    except ConnectionRefusedError:
        return True
    except OSError:
        return False  # nothing can be said without a way or a descriptor
    with sock:
        answer = select.poll()
        answer.register(sock, select.POLLOUT)
        answer.poll(ANSWER_S * 1000)
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


def tune(sock: socket.socket, host: str) -> None:
    """Make a connection non-blocking and undelayed; have the kernel notice that another host vanished."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if host.startswith("127."):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def hang_up(sock: socket.socket) -> None:
    """Close a connection for both sides, whatever processes still hold a copy of the descriptor."""
    with contextlib.suppress(OSError):  # the other side was faster, which is what was wanted
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def under_way(sock: socket.socket) -> int:
    """How many bytes that were written have not reached the kernel of the other side."""
    (count,) = struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))
    return int(count)


def reachable(key: Key) -> bool:
    """Whether anybody listens at `key`; waits at most a second where the answer does not come at once."""
    try:
        sock = socket.create_connection(key, timeout=1.0)
    except OSError:
        return False
    myself = sock.getsockname() == sock.getpeername()
    hang_up(sock)
    return not myself
