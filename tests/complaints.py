"""What users of systems that run agents complain about, and what proves that it can't happen here.

`tests/test_complaints.py` checks that the tests named here exist.
"""

from __future__ import annotations

from tests.complaint import Complaint
from tests.complaints_ending import CANCELLING, ENDING, STUCK
from tests.complaints_work import GROWING, LOST, PICKLING, STREAMING

COMPLAINTS: tuple[Complaint, ...] = (
    *CANCELLING,
    *STUCK,
    *ENDING,
    *LOST,
    *GROWING,
    *STREAMING,
    *PICKLING,
)
"""All of them."""
