"""The numbers of deliveries go on as long as their recipient is there, and are forgotten when it is gone."""

from __future__ import annotations

import socket
from typing import Any

from thespian.actors import ActorAddress
from thespian.system.transport.IPBase import TCPv4ActorAddress

from gen_agent.actors.absence import is_gone
from gen_agent.actors.numbers import Numbers

CLIENTS = 1_000


def test_each_recipient_counts_for_itself() -> None:
    """C129: the number of a delivery is one more than that of the last to the same recipient."""
    numbers = Numbers(lambda recipient: False)
    assert [numbers.next(key, key) for key in "aabab"] == [1, 2, 1, 3, 2]
    assert numbers.last() == (("a", 3), ("b", 2))


def test_whoever_is_gone_is_forgotten() -> None:
    """Thousands of one-shot clients leave a bounded table; the numbers of those that stay go on."""
    here = {"friend"}
    numbers = Numbers(lambda recipient: recipient not in here)
    assert numbers.next("friend", "friend") == 1
    for client in range(CLIENTS):
        assert numbers.next(str(client), client) == 1
    assert len(numbers.last()) < CLIENTS / 10
    assert numbers.next("friend", "friend") == 2


def test_those_that_stay_are_all_kept() -> None:
    """No number begins anew for a recipient that is there, however many there are."""
    numbers = Numbers(lambda recipient: False)
    for _ in range(2):
        last = [numbers.next(str(client), client) for client in range(CLIENTS)]
    assert set(last) == {2}


def test_who_is_gone() -> None:
    """Gone is whose port on this machine nobody listens on; of nobody else that is said."""

    def address(host: str, port: int) -> Any:
        return ActorAddress(TCPv4ActorAddress(host, port, external=False))

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert not is_gone(address("127.0.0.1", port))
    assert is_gone(address("127.0.0.1", port))
    assert not is_gone(address("203.0.113.1", port))
    assert not is_gone("no address of any kind")
