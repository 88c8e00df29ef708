"""How agents know a script's mailbox from other recipients: by its address, wherever that came from.

This module must not know agents or mailboxes.
"""

from __future__ import annotations

from typing import ClassVar

from thespian.actors import ActorAddress


class MailboxAddress(ActorAddress):
    """The address of an actor that also takes what is for it in bundles."""

    takes_bundles: ClassVar[bool] = True
