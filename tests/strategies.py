"""Hypothesis strategies for every public value, by class.

`payloads` are what the codec keeps: JSON values, bytes, tuples, nested; `VALUES` has one strategy per class
that a user can meet. A new value without a strategy fails `test_public_api`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gen_agent import agent, errors, events, messages, options, values
from gen_agent.agent import Agent, NoReply
from gen_agent.errors import GenAgentError


class Quiet(Agent):
    """The smallest agent."""

    def init_agent(self, options: Any) -> Any:
        return {}, None

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return NoReply(state)


class ActorAddress:
    """Has the shape of a Thespian address without Thespian."""

    def __init__(self, details: str) -> None:
        self.addressDetails = details

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorAddress) and self.addressDetails == other.addressDetails

    __hash__ = None  # type: ignore[assignment]


texts = st.text(max_size=8)
counts = st.integers(min_value=0, max_value=2**40)
floats = st.floats(allow_nan=False, allow_infinity=False)
seconds = st.floats(min_value=0, max_value=1e6)
scalars = st.none() | st.booleans() | st.integers() | floats | texts
keys = texts | st.just("$")


def _nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(children, max_size=3)
    return lists | lists.map(tuple) | st.dictionaries(keys, children, max_size=3)


payloads = st.recursive(scalars | st.binary(max_size=8), _nested, max_leaves=5)
mappings = st.dictionaries(keys, payloads, max_size=3)
words = st.dictionaries(st.text("abc", min_size=1, max_size=3), payloads, max_size=3)

names = st.recursive(
    texts | st.binary(max_size=10) | st.integers(),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
    max_leaves=4,
)

# ---------------------------------------------------------------- values

request_refs = st.builds(values.RequestRef, texts, counts)
call_refs = st.builds(values.CallRef, texts, counts)
monitor_refs = st.builds(values.MonitorRef, texts, counts)
incarnations = st.builds(values.Incarnation, texts, counts, counts, texts)
addresses = st.builds(values.AgentAddress, names, incarnations, st.none())
callers = st.builds(values.Caller, texts, counts, counts)
statuses = st.builds(
    values.Status,
    st.sampled_from(("idle", "processing")),
    names,
    counts,
    st.none() | request_refs,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    payloads,
)
current_requests = st.builds(values.CurrentRequest, request_refs, texts, counts, seconds, st.none() | seconds)
snapshots = st.builds(
    values.RuntimeSnapshot,
    st.sampled_from(("idle", "processing")),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    counts,
    counts,
    st.booleans(),
    st.none() | current_requests,
)

# ---------------------------------------------------------------- events, errors, outcomes

event_values = st.builds(events.Event, texts, mappings, seconds)
omissions = st.builds(events.Omission, st.sampled_from(("events", "bytes")), texts)
coverages = st.builds(
    events.EventCoverage,
    st.sampled_from(("exact", "compact")),
    counts,
    counts,
    counts,
    counts,
    st.none() | omissions,
)
event_runs = st.lists(event_values, max_size=3).map(tuple)
responses = st.builds(
    events.Response,
    text=texts,
    final_message=texts,
    events=event_runs,
    terminal=st.none() | event_values,
    event_coverage=coverages,
    usage=st.none() | mappings,
    duration_s=seconds,
    metadata=mappings,
    session_id=payloads,
    prompt=texts,
)

ERRORS: tuple[type[GenAgentError], ...] = tuple(
    cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, GenAgentError)
)


def errors_of(cls: type[GenAgentError]) -> st.SearchStrategy[GenAgentError]:
    """Errors of `cls` with any payload in any field."""
    return st.builds(cls, **dict.fromkeys(cls.names, payloads))


error_values = st.sampled_from(ERRORS).flatmap(errors_of)
outcomes = responses | error_values

# ---------------------------------------------------------------- messages

_CALL = {
    "call": call_refs,
    "caller": st.none() | callers,
    "incarnation": st.none() | incarnations,
}
_CAST = {"incarnation": st.none() | incarnations, "sequence": st.none() | counts}
_DELIVERY = {"incarnation": st.none() | incarnations, "delivery": st.none() | counts}
_STREAM = {
    "on_halt": st.sampled_from(("queue", "fail")),
    "stream_to": st.none() | addresses,
    "stream_batch": st.booleans(),
}
_PROMPT = {"prompt": texts, "ref": request_refs}
_OF_REQUEST = {"agent": names, "ref": request_refs, **_DELIVERY}

_MESSAGES: dict[type, dict[str, st.SearchStrategy[Any]]] = {
    messages.Ask: {**_PROMPT, **_CALL},
    messages.Tell: {**_PROMPT, "recipient": st.none() | addresses, **_STREAM, **_CALL},
    messages.Submit: {**_PROMPT, "recipient": addresses, **_STREAM, **_CAST},
    messages.Poll: {"ref": request_refs, **_CALL},
    messages.CancelRequest: {"ref": request_refs, **_CALL},
    messages.InterruptRequest: {"ref": request_refs, **_CALL},
    messages.Notify: {"event": payloads, **_CAST},
    messages.NotifyAck: {"event": payloads, **_CALL},
    messages.Interrupt: _CAST,
    messages.HaltAgent: _CAST,
    messages.ResumeAgent: _CAST,
    messages.Drain: _CALL,
    messages.ResetSession: _CALL,
    messages.GetStatus: _CALL,
    messages.GetSnapshot: _CALL,
    messages.StartAgent: {
        "agent": st.just(Quiet),
        "name": names,
        "backend": st.just("echo"),
        "options": words,
        "script": st.none() | st.binary(max_size=10),
        **_CALL,
    },
    messages.StopAgent: {"target": st.none() | names | addresses, "timeout": st.none() | seconds, **_CALL},
    messages.Monitor: {"target": names | addresses, "ref": monitor_refs, **_CALL},
    messages.Demonitor: {"ref": monitor_refs, **_CALL},
    messages.Admission: {**_OF_REQUEST, "error": st.none() | error_values},
    messages.EventMessage: {**_OF_REQUEST, "attempt": counts, "event": event_values},
    messages.EventBatch: {**_OF_REQUEST, "attempt": counts, "events": event_runs},
    messages.Completion: {**_OF_REQUEST, "outcome": outcomes, "dropped_events": counts},
    messages.Reply: {
        "call": call_refs,
        "value": payloads | responses | statuses,
        "error": st.none() | error_values,
    },
    messages.Down: {
        "monitor": monitor_refs,
        "agent": addresses,
        "name": names,
        "reason": st.sampled_from(values.REASONS),
        "detail": st.lists(texts, max_size=2).map(tuple),
        **_DELIVERY,
    },
    messages.TelemetryMessage: {
        "name": st.lists(texts, max_size=3).map(tuple),
        "measurements": mappings,
        "metadata": mappings,
    },
}

# ---------------------------------------------------------------- options

_limits = st.none() | st.integers(min_value=1, max_value=2**40)
_spans = st.none() | st.floats(min_value=0.001, max_value=1e6)
agent_options = st.builds(
    options.AgentOptions,
    names,
    st.sampled_from(("echo", "package.module:Class")),
    watchdog_s=_spans,
    idle_watchdog_s=_spans,
    shutdown_s=_spans,
    max_pending_prompts=_limits,
    max_tell_result_bytes=_limits,
    max_events_per_turn=_limits,
    event_retention=st.sampled_from((None, "compact", "lossless")),
    max_turns_per_worker=_limits,
    requirements=st.none() | mappings,
    telemetry=st.sampled_from(((), ("package.module:function",))),
    telemetry_to=st.none() | addresses,
)
child_specs = st.builds(
    options.ChildSpec,
    st.just(Quiet),
    names,
    st.just("echo"),
    st.sampled_from(("temporary", "transient", "permanent")),
    _spans,
    words,
)

VALUES: dict[type, st.SearchStrategy[Any]] = {
    values.RequestRef: request_refs,
    values.CallRef: call_refs,
    values.MonitorRef: monitor_refs,
    values.Incarnation: incarnations,
    values.AgentAddress: addresses,
    values.Caller: callers,
    values.Status: statuses,
    values.CurrentRequest: current_requests,
    values.RuntimeSnapshot: snapshots,
    events.Event: event_values,
    events.Omission: omissions,
    events.EventCoverage: coverages,
    events.Response: responses,
    agent.NoReply: st.builds(agent.NoReply, payloads),
    agent.Prompt: st.builds(agent.Prompt, texts, payloads),
    agent.Halt: st.builds(agent.Halt, payloads),
    agent.Proceed: st.builds(agent.Proceed, texts, payloads),
    agent.Skip: st.builds(agent.Skip, payloads),
    options.AgentOptions: agent_options,
    options.ChildSpec: child_specs,
    **{cls: errors_of(cls) for cls in ERRORS},
    **{cls: st.builds(cls, **fields) for cls, fields in _MESSAGES.items()},
}
"""One strategy for every public value, by its class."""

HOLD_CLASSES = frozenset({messages.StartAgent, options.ChildSpec})
"""Values that hold a class, so that there is no JSON of them."""
