"""Errors as values: fields, equality, copies, what they show."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given

from gen_agent import errors
from gen_agent.errors import GenAgentError
from tests.strategies import ERRORS, error_values

TABLE = {
    "NotFound": ("not_found", ()),
    "AgentNotFound": ("not_found", ("target",)),
    "RequestNotFound": ("not_found", ("ref",)),
    "CallTimeout": ("call_timeout", ("target", "timeout")),
    "AgentDown": ("agent_down", ("target", "reason", "detail")),
    "AgentTerminated": ("agent_terminated", ("reason",)),
    "UnknownRequest": ("unknown_request", ()),
    "Overloaded": (
        "overloaded",
        ("queue", "limit", "pending_count", "pending_bytes", "incoming_bytes", "max_count", "max_bytes"),
    ),
    "Draining": ("draining", ()),
    "Halted": ("halted", ()),
    "Cancelled": ("cancelled", ()),
    "Interrupted": ("interrupted", ()),
    "WatchdogTimeout": ("timeout", ("limit_s", "idle")),
    "PreTurnSkipped": ("pre_turn_skipped", ()),
    "PreTurnHalted": ("pre_turn_halted", ()),
    "PreTurnInvalid": ("pre_turn_invalid", ()),
    "PreTurnCrashed": ("pre_turn_crashed", ("exception",)),
    "WorkerCrashed": ("task_crashed", ("reason",)),
    "WorkerUnavailable": ("task_supervisor_unavailable", ("reason",)),
    "NoTerminalEvent": ("no_terminal_event", ()),
    "EventCaptureOverflow": (
        "event_capture_overflow",
        (
            "limit",
            "max_events",
            "max_bytes",
            "retained_events",
            "retained_bytes",
            "rejected_event_kind",
            "rejected_event_bytes",
        ),
    ),
    "UnsupportedCheckpoint": ("unsupported_checkpoint", ()),
    "InvalidSessionId": ("invalid_session_id", ()),
    "ConflictingSessionId": ("conflicting_session_id", ()),
    "NotCurrent": ("not_current", ()),
    "BackendFailed": ("backend_failed", ("reason",)),
    "BackendError": (
        "backend_error",
        ("provider", "kind", "retryable", "status", "retry_after", "message", "raw"),
    ),
    "Busy": ("busy", ()),
    "Unsupported": ("unsupported", ()),
    "ResetFailed": ("reset_failed", ("reason",)),
    "SelfStop": ("self_stop", ()),
    "DrainTimeout": ("drain_timeout", ()),
    "StartError": ("start_error", ("reason",)),
    "InitFailed": ("init_failed", ("kind", "exception")),
    "InitAgentFailed": ("init_agent_failed", ("reason",)),
    "BackendStartFailed": ("backend_start_failed", ("reason",)),
    "AlreadyStarted": ("already_started", ("address",)),
    "Unpicklable": ("unpicklable", ("what", "type")),
    "Undecodable": ("undecodable", ("type",)),
    "CodecError": ("codec_error", ("path",)),
}


def test_every_error_has_its_code_and_fields() -> None:
    """C251, C252, C253, C254: the table of all errors, their codes and their fields in order."""
    found = {cls.__name__: (cls.code, cls.names) for cls in ERRORS if cls is not GenAgentError}
    assert found == TABLE


@pytest.mark.parametrize(
    ("cls", "parents"),
    [
        (errors.AgentNotFound, (errors.NotFound, LookupError)),
        (errors.RequestNotFound, (errors.NotFound, LookupError)),
        (errors.CallTimeout, (TimeoutError,)),
        (errors.InitFailed, (errors.StartError,)),
        (errors.InitAgentFailed, (errors.StartError,)),
        (errors.BackendStartFailed, (errors.StartError,)),
        (errors.AlreadyStarted, (errors.StartError,)),
    ],
)
def test_families(cls: type[GenAgentError], parents: tuple[type, ...]) -> None:
    """An error can be caught as its family and as the builtin it means."""
    assert all(issubclass(cls, parent) for parent in parents)


@given(error_values)
def test_equal_by_class_and_fields(error: GenAgentError) -> None:
    """An error equals, and hashes as, another of its class with equal fields."""
    again = type(error)(**copy.deepcopy(error.fields))
    assert again == error
    assert hash(again) == hash(error)
    assert error != type("Other", (type(error),), {})(*error.args)
    for name in error.names:
        assert error != type(error)(**{**error.fields, name: object()})


@given(error_values)
def test_a_raised_error_is_copied_without_its_past(error: GenAgentError) -> None:
    """`fresh`, pickle and deepcopy give equal errors that share no traceback with the first."""
    try:
        raise error from ValueError("secret")
    except GenAgentError:
        pass
    for copied in (error.fresh(), pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert copied == error
        assert copied is not error
        assert (copied.__traceback__, copied.__cause__) == (None, None)


def test_fields_by_position_and_keyword() -> None:
    """Fields may be given either way and default as declared."""
    error = errors.AgentDown("coder", detail=("error", "ValueError"))
    assert error.fields == {"target": "coder", "reason": "noproc", "detail": ("error", "ValueError")}
    assert error.args == ("coder", "noproc", ("error", "ValueError"))
    assert errors.CallTimeout("coder", 3.0).args == ("coder", 3.0)


@pytest.mark.parametrize(
    ("args", "fields"), [((), {}), (("a", "b"), {}), (("a",), {"target": "b"}), (("a",), {"other": 1})]
)
def test_wrong_fields_are_type_errors(args: tuple[str, ...], fields: dict[str, object]) -> None:
    """Missing, surplus, repeated and unknown fields are a `TypeError` naming the class."""
    with pytest.raises(TypeError, match="AgentNotFound"):
        errors.AgentNotFound(*args, **fields)


def test_an_unhashable_field_does_not_make_the_error_unhashable() -> None:
    """An error with a dict in it can still be put into a set."""
    assert len({errors.BackendFailed({"a": 1}), errors.BackendFailed({"a": 1})}) == 1


@pytest.mark.parametrize(
    "error",
    [
        errors.BackendFailed("secret"),
        errors.BackendError(provider="p", kind="k", message="secret", raw={"body": "secret"}),
        errors.StartError("secret"),
        errors.InitAgentFailed("secret"),
        errors.BackendStartFailed("secret"),
        errors.ResetFailed("secret"),
        errors.WorkerUnavailable("secret"),
    ],
)
def test_repr_hides_what_users_and_providers_wrote(error: GenAgentError) -> None:
    """C218: a logged `repr` shows no message, reason or raw answer; the fields still do."""
    assert "secret" not in repr(error)
    assert "secret" in str(error.fields)


def test_str_says_what_happened_but_never_the_raw_answer() -> None:
    """C258: the text of a raised error names code, kind and message; `raw` stays out of it."""
    error = errors.BackendError("openai", "rate_limited", True, 429, "3", "slow down", {"key": "secret"})
    assert str(error).startswith("backend_error: provider='openai', kind='rate_limited'")
    assert "slow down" in str(error)
    assert "secret" not in str(error)
    assert str(errors.Draining()) == "draining"


def test_a_subclass_of_a_user_keeps_the_rules() -> None:
    """A backend's own error class inherits fields, code and equality."""

    class QuotaError(errors.BackendError):
        pass

    error = QuotaError("p", kind="quota")
    assert (error.code, error.kind, error.names) == ("backend_error", "quota", errors.BackendError.names)
    assert error == QuotaError("p", "quota")
    assert error != errors.BackendError("p", "quota")
