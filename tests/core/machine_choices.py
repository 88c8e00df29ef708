"""What the stateful test draws: limits, plans of prompts, requests, and the late words of workers."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import strategies as st

from gen_agent.core import signals as on
from gen_agent.errors import WorkerCrashed
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller
from tests.core.planned_agent import Book, Do, ListeningAgent, Plan, PlannedAgent

PROMPTS = 8
SHORT, LONG = 10, 60


@attrs.frozen
class Setting:
    """One agent: its class, its options, its book and the prompts there are."""

    agent: type[PlannedAgent]
    options: AgentOptions
    book: Book
    texts: tuple[str, ...]

    def prompt(self, number: int) -> str:
        """The text of a prompt."""
        return self.texts[number % len(self.texts)]


prompts = st.integers(0, PROMPTS - 1)
callers = st.sampled_from((None, *(Caller("here", pid, 7) for pid in (1, 2, 3))))
recipients = st.sampled_from((None, "anna", "ben"))
hearers = st.sampled_from(("anna", "ben"))
streams = st.sampled_from((None, "anna", "carl"))
on_halts = st.sampled_from(("queue", "fail"))
notice_deeds = st.sampled_from(("keep", "prompt", "halt", "raise", "bad", "prompt"))
overload_deeds = st.sampled_from(("keep", "prompt", "halt", "raise"))
post_turns = st.sampled_from(("keep", "keep", "raise", "bad"))
backs = st.sampled_from((0, 0, 0, 1, 2, 3, 4, 5, 6, 7))
questions = st.sampled_from(("poll", "cancel", "cancel", "interrupt", "nonsense"))
orders = st.sampled_from(("interrupt", "halt", "halt", "resume", "resume", "resume", "reset"))
ends = st.sampled_from(("no", "no", "drain", "drain", "shutdown", "shutdown", "shutdown", "registry_lost"))
pads = st.sampled_from((0, 0, 500))
left_states = st.one_of(st.none(), st.integers(1, 10**6))
session_ids = st.sampled_from(("one", "two", "", "a\x00b", 7))
mostly = st.sampled_from((True, True, True, False))
late_words = st.sampled_from(
    ("started", "ended", "died", "killed", "refused", "events", "checkpoint", "deadline")
)

_gates = st.sampled_from(
    ("proceed",) * 8 + ("rewrite", "rewrite", "skip", "skip", "halt", "raise", "bad", "number")
)
_after_response = st.sampled_from(("keep",) * 6 + ("prompt",) * 4 + ("halt",) * 3 + ("raise",))
_after_error = st.sampled_from(("keep",) * 3 + ("prompt",) * 5 + ("halt", "raise", "bad"))


@st.composite
def settings(draw: st.DrawFn) -> Setting:
    """An agent with tight or roomy limits, and plans that may lead from one prompt to another."""
    texts = tuple(f"p{number}".ljust(LONG if number % 4 == 3 else SHORT, "x") for number in range(PROMPTS))
    book = Book()
    for text in texts:
        book.plans[text] = Plan(
            draw(_gates),
            Do(draw(_after_response), texts[draw(prompts)]),
            Do(draw(_after_error), texts[draw(prompts)]),
        )
    return Setting(draw(st.sampled_from((PlannedAgent, ListeningAgent))), draw(_options()), book, texts)


def _options() -> st.SearchStrategy[AgentOptions]:
    return st.builds(
        AgentOptions,
        st.just("planned"),
        st.just("scripted"),
        watchdog_s=st.sampled_from((None, 600.0)),
        idle_watchdog_s=st.sampled_from((None, 30.0)),
        max_pending_prompts=st.sampled_from((0, 1, 3, 3, 1000)),
        max_pending_prompt_bytes=st.sampled_from((0, SHORT, 35, 1000, 1000)),
        max_pending_notifications=st.sampled_from((0, 1, 3, 3)),
        max_pending_notification_bytes=st.sampled_from((0, 10, 1000, 1000)),
        max_tell_results=st.sampled_from((0, 1, 3, 100)),
        max_tell_result_bytes=st.sampled_from((0, 700, 1 << 20)),
    )


def late_event(word: str, tag: on.Tag) -> on.Event:
    """What a worker, killer or clock may still say about a turn that is over."""
    words: dict[str, Any] = {
        "started": on.TurnStarted(tag),
        "ended": on.TurnEnded(tag, WorkerCrashed("late"), None, Sealed.of("late"), Sealed.of(13)),
        "died": on.WorkerDied(tag, WorkerCrashed("late")),
        "killed": on.WorkerKilled(tag),
        "refused": on.TurnRefused(tag, "late"),
        "events": on.EventsStreamed(tag, SealedRun.of((1,))),
        "checkpoint": on.CheckpointAsked(tag, "x", True, Sealed.of("late")),
        "deadline": on.DeadlineReached(on.Deadline("watchdog", tag.turn)),
    }
    event: on.Event = words[word]
    return event
