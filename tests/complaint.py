"""One thing that users of such systems complain about, and where the proofs of the opposite stand."""

from __future__ import annotations

import attrs

ACTORS, CONTRACT, CORE, FAULTS = (
    f"tests/{folder}/test_" for folder in ("actors", "contract", "core", "faults")
)
ENDING, WORK = f"{CONTRACT}complaints_ending.py::", f"{CONTRACT}complaints_work.py::"
NESTED, CROWD = f"{ACTORS}complaints_nested.py::", f"{ACTORS}complaints_crowd.py::"
DAYS = f"{CORE}complaints.py::"
KILLS = f"{ACTORS}worker_kills.py::"
GROWTH = f"{FAULTS}growth.py::"
TWO_WAY = f"{FAULTS}two_way.py::"
RECIPIENTS = f"{FAULTS}recipients.py::"
REQUESTS = f"{CONTRACT}requests.py::"


@attrs.frozen
class Complaint:
    """What people say, and why they will not say it of this: `proofs` are the tests that would fail if it
    came true, `reason` says what no test can.
    """

    text: str
    proofs: tuple[str, ...] = ()
    reason: str = ""
