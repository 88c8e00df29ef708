"""Breakages that tests on real processes must notice, by rule; run by `python -m tests.breakages`."""

from __future__ import annotations

from tests.breakage import Breakage


def _real(rule: str, file: str, old: str, new: str, *tests: str) -> Breakage:
    return Breakage(rule, f"gen_agent/{file}.py", old, new, tuple(f"tests/contract/{one}" for one in tests))


BREAKAGES: tuple[Breakage, ...] = (
    _real(
        "C043: post_turn hears of a turn that no worker could be had for",
        "core/turn_end",
        '    transform(m, "post_turn", outcome, turn.request.ref)\n',
        "    if not isinstance(outcome, WorkerUnavailable):\n"
        '        transform(m, "post_turn", outcome, turn.request.ref)\n',
        "test_undispatched.py::test_without_a_worker_nothing_starts",
    ),
    _real(
        "C043: a prompt that pre_turn refuses was no turn",
        "core/dispatch",
        "        settle(m, request, error)\n",
        "        settle(m, request, error)\n"
        '        m.hooks.call("post_turn", error, request.ref, m.agent_state)\n',
        "test_undispatched.py::test_post_turn_is_for_turns_only",
    ),
    _real(
        "C236: a turn that no worker could be had for has not started",
        "core/turn_end",
        "    if turn.stage is Stage.HANDED_OVER and isinstance(outcome, WorkerUnavailable):\n",
        "    if False:\n",
        "test_undispatched.py::test_without_a_worker_nothing_starts",
    ),
    _real(
        "C144: a chain has one place",
        "core/generated",
        "    return limits.refusal(int(m.slot is not None), taken, size)\n",
        "    return limits.refusal(0, taken, size)\n",
        "test_retries.py::test_a_chain_that_finds_its_place_taken",
    ),
    _real(
        "C016: the first change of state is from nothing",
        "core/beginning",
        '    report.phase(m, None, "idle")\n',
        "",
        "test_what_is_told.py::test_a_turn_is_told_as_it_was",
    ),
    _real(
        "C040: what a message prompts is an event's prompt",
        "core/notices",
        "request = generated(m, decision.text, Origin.EVENT)",
        "request = generated(m, decision.text, Origin.SELF_CHAIN)",
        "test_what_is_told.py::test_attempts_and_origins_are_told",
    ),
    _real(
        "C060: a draining agent hears no ordinary message",
        "core/machine",
        "defer_info,           informed,           ignore),",
        "defer_info,           informed,           informed),",
        "test_halting.py::test_a_draining_agent_takes_nothing",
    ),
    _real(
        "C070: a draining agent says so",
        "core/status",
        "        draining=m.state is State.DRAINING,\n        agent_state",
        "        draining=False,\n        agent_state",
        "test_requests.py::test_halted_and_draining_agents_tell_why_in_status",
    ),
    _real(
        "C120: an interrupt is answered when it is over",
        "core/controls",
        "    turn.interrupters = (*turn.interrupters, event.by)\n",
        '    m.out.append(Answer(event.by, "accepted"))\n',
        "test_requests.py::test_an_interrupt_ends_the_turn_and_its_worker",
    ),
    _real(
        "C126: a reset that fails keeps the session",
        "core/resetting",
        "        return session, None, ResetFailed(error.kind)\n",
        '        return session, Sealed.of(None, "session"), None\n',
        "test_turns.py::test_a_reset_that_fails",
    ),
    _real(
        "C145: a chain that does not fit is told as an error",
        "core/generated",
        "    report.prompt_error(m, ref, 1, refusal)\n    return reconsider(m, ref, refusal, paced=paced)\n",
        "    return reconsider(m, ref, refusal, paced=paced)\n",
        "test_retries.py::test_a_chain_that_does_not_fit_is_reported",
    ),
    _real(
        "C156: a dropped message is logged",
        "core/notices",
        "    if _put(m, event) is not None:\n        m.log(",
        "    if _put(m, event) is None:\n        m.log(",
        "test_logs.py::test_a_message_for_which_there_is_no_room_is_logged_by_class",
    ),
    _real(
        "C223: how a turn failed is told",
        "core/report",
        "    if isinstance(error, (WatchdogTimeout, Interrupted, WorkerCrashed)):\n"
        "        return error.code\n",
        "",
        "test_what_is_told.py::test_how_a_turn_failed_is_told",
        "test_what_is_told.py::test_an_interrupt_is_told_as_one",
    ),
    _real(
        "C224: what pre_turn raised is told where it is nobody's prompt",
        "core/report",
        "if crashed else error.code\n    m.emit",
        "if False else error.code\n    m.emit",
        "test_what_is_told.py::test_how_a_turn_failed_is_told",
    ),
    _real(
        "C228: a failed prompt is told with its reason",
        "core/report",
        '"attempt": attempt, "reason": error,',
        '"attempt": attempt, "reason": None,',
        "test_what_is_told.py::test_how_a_turn_failed_is_told",
        "test_what_is_told.py::test_an_interrupt_is_told_as_one",
    ),
    _real(
        "C225: an ask that goes with its caller is told of",
        "core/controls",
        '        report.cancelled(m, request, "caller_down")\n',
        "        pass\n",
        "test_undispatched.py::test_a_queued_ask_goes_with_its_caller",
    ),
    _real(
        "C226: a rewritten prompt is told as that",
        "core/report",
        '"rewritten": turn.prompt != request.prompt',
        '"rewritten": False',
        "test_what_is_told.py::test_a_turn_is_told_as_it_was",
    ),
    _real(
        "C229: an event is told before it is refused",
        "core/notices",
        "    report.received(m, event.event)\n    _acknowledge(m, event, _put(m, event))\n",
        "    _acknowledge(m, event, _put(m, event))\n",
        "test_what_is_told.py::test_queues_and_events_are_told_as_they_are",
    ),
    _real(
        "C231: the depth counts the prompt itself",
        "core/report",
        '{"depth": len(m.prompts)}',
        '{"depth": len(m.prompts) - 1}',
        "test_what_is_told.py::test_queues_and_events_are_told_as_they_are",
    ),
    _real(
        "C233: a halt is told after post_run",
        "core/halting",
        '    announce(m, "post_run")\n    report.halted(m)\n',
        '    report.halted(m)\n    announce(m, "post_run")\n',
        "test_what_is_told.py::test_a_halt_is_told_after_its_last_callback",
    ),
    _real(
        "C188: a bad id is a bad id, also after a good one",
        "core/session_ids",
        "    if not is_valid(session_id):\n        return InvalidSessionId()\n    if accepted",
        "    if accepted is None and not is_valid(session_id):\n"
        "        return InvalidSessionId()\n"
        "    if accepted",
        "test_turns.py::test_a_checkpoint_outlives_its_turn",
    ),
)
