"""Room for calls, made once, where a loop begins that is never left.

CPython keeps the frames of running calls in chunks of memory. It asks the kernel for another chunk when a
call no longer fits, and gives it back when that call returns. A loop that happens to begin near the end of a
chunk pays for this with every call that crosses the border: two system calls and a page fault, dozens of
times per message. Actors are forked from within each other's handlers, so where their loops begin is chance.
This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeVar

WORDS = 3_200
"""So many words do not fit into any chunk that is there, and leave most of the next size, 64 KB, free."""

_Result = TypeVar("_Result")


def _call(action: Callable[[], _Result]) -> _Result:
    return action()


with_room: Callable[[Callable[[], _Result]], _Result] = types.FunctionType(
    _call.__code__.replace(co_stacksize=WORDS), globals(), "with_room"
)
"""Return `action()`, called at the beginning of a chunk of its own. That costs two system calls: it is for a
loop, or for a message where the loop is not ours."""
