"""Which session ids a checkpoint accepts; used where they are offered and where they are kept (C188)."""

from __future__ import annotations

from gen_agent.errors import ConflictingSessionId, GenAgentError, InvalidSessionId, UnsupportedCheckpoint

MAX_BYTES = 1024


def is_valid(session_id: object) -> bool:
    """Whether it is 1 to 1024 bytes of UTF-8 text without control characters."""
    if not isinstance(session_id, str):
        return False
    try:
        data = session_id.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return 1 <= len(data) <= MAX_BYTES and all(byte >= 0x20 and byte != 0x7F for byte in data)


def checkpoint_error(session_id: object, supported: bool, accepted: str | None) -> GenAgentError | None:
    """Why `session_id` is refused after `accepted`, in the contract's order of checks; None if it is not."""
    if not supported:
        return UnsupportedCheckpoint()
    if not is_valid(session_id):
        return InvalidSessionId()
    if accepted is not None and session_id != accepted:
        return ConflictingSessionId()
    return None
