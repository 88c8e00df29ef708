"""Who takes part in a real history: desks that read what is due, streams, blocking calls beside it, and a
ledger."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from gen_agent import PENDING, AgentAddress, MonitorRef, Overloaded, RequestRef, Response
from gen_agent.actors.stream import Stream
from gen_agent.actors.system import Client
from gen_agent.errors import GenAgentError
from gen_agent.messages import Admission, Completion, Down, EventBatch, EventMessage
from tests.contract.troupe import PATIENCE_S

Word = tuple[Any, ...]


def code(value: Any) -> Any:
    """What a history says of a call's end: the text and the turn of a response, the code of an error."""
    if isinstance(value, Response):
        assert value.terminal is not None
        return f"{value.text} {value.terminal.data['turns']}"
    if isinstance(value, GenAgentError) and not isinstance(value, Overloaded):
        return value.code
    return value


def answer(call: Callable[[], Any]) -> Any:
    """What a call returns or raises, in those words."""
    try:
        return code(call())
    except GenAgentError as error:
        return code(error)


class Ledger:
    """Every accepted request: for whom, and how often it came to an end there."""

    def __init__(self) -> None:
        self._expected: dict[RequestRef, str] = {}
        self._ended: dict[RequestRef, list[str]] = {}

    def accept(self, ref: RequestRef, to: str) -> None:
        """An outcome is due to `to`."""
        self._expected[ref] = to

    def forget(self, refs: Iterable[RequestRef]) -> None:
        """None is due: its agent has ended, as whoever waits has been told, or nobody waits any more."""
        for ref in refs:
            assert ref not in self._ended
            self._expected.pop(ref, None)

    def ended(self, ref: RequestRef, at: str) -> None:
        """An outcome has come: the first, and to whom it is due."""
        assert self._expected.get(ref) == at
        assert ref not in self._ended
        self._ended[ref] = [at]

    def balanced(self) -> bool:
        """Whether every accepted request has had its one outcome."""
        return self._expected.keys() == self._ended.keys()


@attrs.define
class Desk:
    """One client, its mailbox and its monitors."""

    name: str
    client: Any
    ledger: Ledger
    monitors: set[MonitorRef] = attrs.field(factory=set)
    _words: deque[Word] = attrs.field(factory=deque)

    def read(self, due: list[Word]) -> None:
        """What is due has come, in its order, and nothing in between."""
        came = [self._next() for _ in due]
        if came != due:
            raise AssertionError(f"{self.name}: due was {due}, and what came {came}")

    def read_by_request(self, due: list[Word]) -> None:
        """What is due has come, in the order of each request: several were under way at once."""
        came = [self._next() for _ in due]
        if sorted(came, key=_request) != sorted(due, key=_request):
            raise AssertionError(f"{self.name}: due was {due}, and what came {came}")

    def _next(self) -> Word:
        if not self._words:
            message = self.client.receive(timeout=PATIENCE_S)
            assert message is not None, "nothing came"
            self._words.extend(_words(message))
        word = self._words.popleft()
        if word[0] == "completion":
            self.ledger.ended(word[1], self.name)
        return word

    def downs(self, agent: AgentAddress, reason: str) -> None:
        """Exactly one `Down` has come for every monitor (C255)."""
        assert not self._words
        came = [self.client.receive(timeout=PATIENCE_S) for _ in self.monitors]
        assert all(isinstance(down, Down) for down in came)
        assert {(down.monitor, down.reason) for down in came} == {(one, reason) for one in self.monitors}
        assert {down.agent for down in came} <= {agent}
        self.monitors = set()

    def silent(self, agent: AgentAddress) -> bool:
        """Whether nothing of that agent is left: what comes next is the answer to one more request of this
        client."""
        last = self.client.submit_with_completion(agent, "end-of-test")
        admission, completion = (self.client.receive(timeout=PATIENCE_S) for _ in range(2))
        return (type(admission), admission.ref, type(completion), completion.ref) == (
            Admission,
            last,
            Completion,
            last,
        )


def _request(word: Word) -> tuple[str, int]:
    return word[1].issuer, word[1].number


def _words(message: Any) -> list[Word]:
    if isinstance(message, Admission):
        return [("admission", message.ref, None if message.error is None else code(message.error))]
    if isinstance(message, (EventMessage, EventBatch)):
        events = message.events if isinstance(message, EventBatch) else (message.event,)
        return [("event", message.ref, message.attempt, _text(event)) for event in events]
    assert isinstance(message, Completion), f"nobody expected {message}"
    return [("completion", message.ref, code(message.outcome))]


def _text(event: Any) -> str:
    return str(event.data.get("text", event.kind))


@attrs.define
class Reader:
    """A stream that somebody reads as soon as there is something to read."""

    name: str
    desk: Desk
    stream: Stream
    ended: bool = False

    def read(self, due: list[Word]) -> None:
        """The events that are due, then the end."""
        for word in due:
            if word[0] == "event":
                assert _text(next(self.stream)) == word[3]
            elif word[0] == "down":
                self._end("agent_down")
            elif word[0] == "completion" or word[2] is not None:
                self._end(word[2])
                if word[0] == "completion":
                    self.desk.ledger.ended(self.stream.ref, self.name)

    def _end(self, expected: Any) -> None:
        self.ended = True
        try:
            more = next(self.stream, None)
        except GenAgentError:
            more = None
        assert more is None
        assert answer(lambda: self.stream.response) == expected
        assert self.stream.dropped_events == 0


class Beside(threading.Thread):
    """A blocking call in a thread with a client of its own."""

    def __init__(self, client: Client, call: Callable[[Client], Any]) -> None:
        super().__init__(daemon=True)
        self.client = client
        self._call = call
        self._answer: Any = PENDING
        self.start()

    def run(self) -> None:
        """Call."""
        self._answer = answer(lambda: self._call(self.client))

    def read(self, due: list[Word]) -> None:
        """It has ended as it had to."""
        self.join(2 * PATIENCE_S)
        assert [("answer", self._answer)] == due
