"""The OpenAI backend against a scripted server."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gen_agent.backends.openai import ChatSession, Endpoint, OpenAIBackend
from gen_agent.errors import BackendError, StartError
from gen_agent.testing.conformance import ConformanceTurn
from tests.backends.fake_openai import DONE, FakeOpenAI, Reply, chunk, refuses, says
from tests.backends.turns import failing, play

KEY = "sk-very-secret"

Open = Callable[..., tuple[FakeOpenAI, OpenAIBackend]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Servers and backends that are closed at the end."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    closing: list[Callable[[], Any]] = []

    def make(*replies: Reply, **options: Any) -> tuple[FakeOpenAI, OpenAIBackend]:
        server = FakeOpenAI(*replies)
        server.__enter__()
        backend = OpenAIBackend(**{"base_url": server.base_url, "api_key": KEY, "model": "m", **options})
        closing.extend((lambda: server.__exit__(), backend.close))
        return server, backend

    yield make
    for close in reversed(closing):
        close()


def test_a_turn_streams_text_usage_and_result(opened: Open) -> None:
    """C162, C173: the pieces come as text events, then usage, then one result with the finish reason."""
    _, backend = opened(says("Hel", "lo"))
    session = backend.start_session()
    events = play(backend, session).events
    assert [event.kind for event in events] == ["session", "text", "text", "usage", "result"]
    assert dict(events[3].data) == {"input_tokens": 7, "output_tokens": 2}
    assert events[4].data["text"] == "Hello"
    assert events[4].data["finish_reason"] == "stop"
    assert events[4].data["session_id"] == session.session_id


def test_the_request_carries_options_and_history(opened: Open) -> None:
    """The second request holds the system prompt, both sides of the first turn, and the new prompt."""
    server, backend = opened(says("one"), says("two"), system="Be brief.", temperature=0.5, max_tokens=9,
                             extra={"top_k": 3})  # fmt: skip
    first = play(backend, backend.start_session(), "first")
    play(backend, first.session, "second")
    asked = server.requests[1]
    assert [(one["role"], one["content"]) for one in asked["messages"]] == [
        ("system", "Be brief."), ("user", "first"), ("assistant", "one"), ("user", "second"),
    ]  # fmt: skip
    assert {name: asked[name] for name in ("model", "temperature", "max_tokens", "top_k", "stream")} == {
        "model": "m", "temperature": 0.5, "max_tokens": 9, "top_k": 3, "stream": True,
    }  # fmt: skip
    assert asked["stream_options"] == {"include_usage": True}
    assert server.keys == [f"Bearer {KEY}"] * 2


def test_text_arrives_while_the_server_still_writes(opened: Open) -> None:
    """A piece is an event as soon as the server has sent it, not when the answer is complete."""
    hold = threading.Event()
    _, backend = opened(says("first", "last", hold=hold))
    session = backend.start_session()
    events = iter(backend.prompt(session, "hi", ConformanceTurn(session)))
    kinds = [next(events).kind, next(events).kind]
    still_held = not hold.is_set()
    hold.set()
    assert kinds == ["session", "text"]
    assert still_held
    assert [event.kind for event in events][-1] == "result"


@pytest.mark.parametrize(
    ("reply", "kind", "retryable", "status", "retry_after"),
    [
        (refuses(429, "rate_limit_exceeded", retry_after="17"), "rate_limited", True, 429, "17"),
        (refuses(401), "authentication", False, 401, None),
        (refuses(403), "authentication", False, 403, None),
        (refuses(400), "invalid_request", False, 400, None),
        (refuses(404), "invalid_request", False, 404, None),
        (refuses(422), "invalid_request", False, 422, None),
        (refuses(408), "http_error", True, 408, None),
        (refuses(409), "http_error", True, 409, None),
        (refuses(425), "http_error", True, 425, None),
        (refuses(418), "http_error", False, 418, None),
        (refuses(500), "server_error", True, 500, None),
        (refuses(503, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), "server_error", True, 503,
         "Wed, 21 Oct 2026 07:28:00 GMT"),
    ],
)  # fmt: skip
def test_statuses(
    opened: Open, reply: Reply, kind: str, retryable: bool, status: int, retry_after: str | None
) -> None:
    """C258: a status is mapped to kind and retryable, the header is unparsed, the SDK does not retry."""
    server, backend = opened(reply)
    events, error = failing(backend, backend.start_session())
    assert events == []
    assert (error.provider, error.kind, error.retryable) == ("openai", kind, retryable)
    assert (error.status, error.retry_after) == (status, retry_after)
    assert error.raw["code"] == status
    assert len(server.requests) == 1


CUT = Reply(parts=(chunk({"content": "half an"}),))


def test_the_first_of_several_headers_counts(opened: Open) -> None:
    """C258: a header that came more than once, in whatever case, is told as it came first."""
    reply = Reply(429, (b"{}",), "application/json", (("RETRY-AFTER", "7"), ("retry-after", "9")))
    _, backend = opened(reply)
    _, error = failing(backend, backend.start_session())
    assert (error.kind, error.retry_after) == ("rate_limited", "7")


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        (CUT, "truncated", True),
        (Reply(parts=(chunk({"content": "half"}), DONE)), "truncated", True),
        (Reply(parts=(chunk({"content": "half an"}),), reset=True), "connection", True),
        (Reply(parts=(chunk({"content": "a"}), b"data: {not json\n\n")), "protocol", False),
        (Reply(parts=(b"data: 12\n\n",)), "protocol", False),
        (Reply(parts=(b'data: {"some": "thing"}\n\n',)), "protocol", False),
        (Reply(parts=(b"<html>a proxy</html>",), content_type="text/html"), "protocol", False),
        (Reply(parts=(b'data: {"error": {"message": "m", "type": "server_error"}}\n\n',)),
         "server_error", True),
        (Reply(parts=(b'data: {"error": {"message": "m", "code": 429}}\n\n',)), "rate_limited", True),
        (Reply(parts=(b'data: {"error": {"message": "m", "type": "invalid_request_error"}}\n\n',)),
         "invalid_request", False),
    ],
    ids=["cut", "done-too-early", "reset", "garbage", "number", "no-choices", "html", "error-event",
         "error-event-code", "error-event-type"],
)  # fmt: skip
def test_half_answers_are_errors(opened: Open, reply: Reply, kind: str, retryable: bool) -> None:
    """C258: a stream that is cut off, is none, or breaks in the middle is one picklable error."""
    _, backend = opened(reply)
    _, error = failing(backend, backend.start_session())
    assert (error.kind, error.retryable) == (kind, retryable)
    assert pickle.loads(pickle.dumps(error)) == error


def test_silence_is_a_timeout(opened: Open) -> None:
    """C258: a server that says nothing for `timeout_s` seconds is a retryable timeout."""
    hold = threading.Event()
    _, backend = opened(says("a", "b", hold=hold), timeout_s=0.2)
    _, error = failing(backend, backend.start_session())
    hold.set()
    assert (error.kind, error.retryable) == ("timeout", True)


def test_nobody_listens() -> None:
    """C258: a refused connection is an error of the transport and not worth the same try again."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        backend = OpenAIBackend(base_url=f"http://127.0.0.1:{held.getsockname()[1]}/v1", api_key=KEY)
        _, error = failing(backend, backend.start_session())
        backend.close()
    assert (error.kind, error.retryable, error.status) == ("connection", False, None)


def test_a_failed_turn_leaves_no_trace_in_the_conversation(opened: Open) -> None:
    """C095: after a cut, an interrupt and a refusal the history holds whole turns only."""
    server, backend = opened(CUT, says("half", "way"), says("I can't", finish="content_filter"), says("fine"))
    session = backend.start_session()
    failing(backend, session, "cut")
    left = iter(backend.prompt(session, "left", ConformanceTurn(session)))
    assert next(left).kind == "session"
    assert next(left).kind == "text"
    left.close()  # type: ignore[attr-defined]
    filtered = play(backend, session, "filtered")
    assert filtered.session == session
    assert play(backend, session, "kept").session.messages == (("user", "kept"), ("assistant", "fine"))
    assert [one["content"] for one in server.requests[-1]["messages"]] == ["kept"]


def test_reasoning_is_not_part_of_the_answer(opened: Open) -> None:
    """C162: reasoning comes as an event of its own kind and is neither terminal nor text."""
    parts = (chunk({"reasoning_content": "hm"}), chunk({"content": "yes"}), chunk(finish="stop"), DONE)
    _, backend = opened(Reply(parts=parts))
    played = play(backend, backend.start_session())
    assert [event.kind for event in played.events] == ["session", "reasoning", "text", "result"]
    assert played.text == "yes"


def test_secrets_stay_out_of_messages_and_reprs(opened: Open) -> None:
    """C216: the key is blanked where the server repeats it, and no repr shows key, prompt or history."""
    body = b'{"error": {"message": "bad key ' + KEY.encode() + b'"}}'
    _, backend = opened(Reply(401, (body,), "application/json"), says("hello"))
    _, error = failing(backend, backend.start_session())
    assert KEY not in error.message
    session = play(backend, backend.start_session(), "my prompt").session
    shown = repr((backend, backend._options, session, Endpoint("http://x", KEY)))
    assert KEY not in shown
    assert "my prompt" not in shown
    assert "hello" not in shown


def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """C017: without a key OpenAI's own server is refused at the start, saying what to set; a blank is none.
    """
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    with pytest.raises(StartError, match="OPENAI_API_KEY"):
        OpenAIBackend().start_session()


def test_key_and_server_from_the_environment(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Key and server come from the environment where no option says otherwise."""
    server, _ = opened(says("x"))
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    backend = OpenAIBackend()
    play(backend, backend.start_session())
    backend.close()
    assert server.keys == ["Bearer from-env"]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"modle": "x"}, TypeError, "unknown option 'modle'; known options: api_key, base_url"),
        ({"temperature": "hot"}, TypeError, "option temperature"),
        ({"temperature": True}, TypeError, "option temperature"),
        ({"timeout_s": float("nan")}, ValueError, "option timeout_s"),
        ({"timeout_s": -1}, ValueError, "option timeout_s"),
        ({"max_tokens": 0}, ValueError, "option max_tokens"),
        ({"max_tokens": 1.5}, TypeError, "option max_tokens"),
        ({"api_key": 5}, TypeError, "option api_key"),
        ({"model": ""}, TypeError, "option model"),
        ({"extra": 3}, TypeError, "option extra"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], match: str) -> None:
    """A wrong option is refused when the backend is made, naming it and what is allowed."""
    with pytest.raises(error, match=match):
        OpenAIBackend(**options)


def test_proxies_are_not_asked_for_a_server_on_this_machine(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on the loopback interface is reached directly, whatever proxy the environment names."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    _, backend = opened(says("direct"))
    assert play(backend, backend.start_session()).text == "direct"
    assert not Endpoint("http://example.com:127/v1", "k").on_this_machine
    assert Endpoint("http://[::1]:8/v1", "k").on_this_machine


def test_a_forked_process_makes_its_own_client(opened: Open) -> None:
    """A client is never used across a fork: the child connects anew and the parent goes on with its own."""
    server, backend = opened(says("parent"), says("child"), says("parent again"))
    session = backend.start_session()
    play(backend, session)
    before = backend._client
    child = os.fork()
    if child == 0:
        os._exit(0 if play(backend, session).text == "child" and backend._client is not before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert play(backend, session).text == "parent again"
    assert backend._client is before
    assert len(server.requests) == 3


def test_session_pickles_small() -> None:
    """A session is plain values: it pickles without the SDK."""
    session = ChatSession("id", (("user", "a"), ("assistant", "b")))
    assert pickle.loads(pickle.dumps(session)) == session


def test_errors_are_values() -> None:
    """C258: equal by fields, so that a test or a retry rule can compare them."""
    assert BackendError("openai", kind="timeout") == BackendError("openai", "timeout")
