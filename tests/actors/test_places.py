"""An address as the place it is: six bytes on the way, and the same address at the end of it."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import pytest
from thespian.actors import ActorAddress
from thespian.system.transport.IPBase import TCPv4ActorAddress, TCPv6ActorAddress

from gen_agent.actors.mailboxes import MailboxAddress
from gen_agent.actors.places import PLACE_BYTES, address_at, packed, place_of
from gen_agent.messages import Submit

HERE = ("127.0.0.1", 7701)


def address(host: str = HERE[0], port: int = HERE[1], external: bool = True) -> ActorAddress:
    """What a process on that place calls itself."""
    return ActorAddress(TCPv4ActorAddress(host, port, external=external))


def travelled(recipient: Any) -> tuple[Any, int]:
    """What arrives of an address in a message, and in how many bytes the message was sent."""
    data = pickle.dumps(Submit("hi", recipient), 5)
    return pickle.loads(data).recipient, len(data)


def test_an_address_is_its_place() -> None:
    """Six bytes stand for an address, and the address made of them has all that it had."""
    place = place_of(address())
    assert place == packed(HERE)
    assert len(place) == PLACE_BYTES
    assert address_at(place) == address()
    assert vars(address_at(place).addressDetails) == vars(address().addressDetails)


def test_an_address_is_made_once() -> None:
    """Whoever sends often is the same address in every message, and two places never are."""
    assert address_at(packed(HERE)) is address_at(packed(HERE))
    assert address_at(packed(("127.0.0.1", 7702))) != address()
    assert address_at(packed(("127.0.0.2", HERE[1]))).addressDetails.sockname == ("127.0.0.2", HERE[1])


def test_a_recipient_travels_as_its_place() -> None:
    """A message with an address in it is hardly longer than one without."""
    arrived, size = travelled(address())
    assert arrived == address()
    assert size < travelled(address(external=False))[1] - 100


@pytest.mark.parametrize(
    "details",
    [
        TCPv4ActorAddress("127.0.0.1", 7701),
        TCPv6ActorAddress("::1", 7701, external=True),
        "no place at all",
        None,
    ],
    ids=lambda details: type(details).__name__,
)
def test_what_is_more_than_a_place_travels_as_it_is(details: Any) -> None:
    """Of an address that other transports made nothing is left out."""
    given = ActorAddress(details)
    assert place_of(given) is None
    arrived, _ = travelled(given)
    assert type(arrived) is ActorAddress
    assert type(arrived.addressDetails) is type(details)
    assert vars(arrived)["_aaddr"] == details


def test_a_mailbox_stays_one() -> None:
    """What takes bundles is known as that where its address arrives, and its place as an actor's is none."""
    arrived, _ = travelled(MailboxAddress(address().addressDetails))
    assert type(arrived) is MailboxAddress
    assert arrived.takes_bundles
    assert arrived == address()
    assert not hasattr(address_at(packed(HERE)), "takes_bundles")


@pytest.mark.parametrize("place", [b"", b"12345", b"1234567", "127.0", None], ids=repr)
def test_what_is_no_place_has_no_address(place: Any) -> None:
    """Of wrong bytes no address is made."""
    with pytest.raises((struct.error, TypeError)):
        address_at(place)
