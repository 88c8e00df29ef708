"""Breakages of what an agent decides, by group of rules; run by `python -m tests.breakages`."""

from __future__ import annotations

from tests.breakage import Breakage


def _core(rule: str, file: str, old: str, new: str, *tests: str) -> Breakage:
    return Breakage(rule, f"gen_agent/core/{file}.py", old, new, tuple(f"tests/core/test_{t}" for t in tests))


BREAKAGES: tuple[Breakage, ...] = (
    # how an agent starts
    _core(
        "C249: nothing is handled before pre_run",
        "machine",
        "while model.postponed and model.state is not State.STARTING and not model.killing:",
        "while model.postponed and False:",
        "beginning.py::test_calls_wait_for_pre_run",
    ),
    _core(
        "C025: a failed pre_run ends the agent",
        "beginning",
        'stop(m, "pre_run_invalid")',
        "m.state = State.IDLE",
        "beginning.py::test_pre_run_failures",
    ),
    # callbacks
    _core(
        "C026: pre_turn's rewrite is what runs",
        "dispatch",
        "_start(m, request, gate.prompt)",
        "_start(m, request, request.prompt)",
        "pre_turn.py::test_rewrite",
    ),
    _core(
        "C034: a caller sees a crashed pre_turn as skipped",
        "dispatch",
        "return PreTurnSkipped() if request.owned else PreTurnCrashed(gate.name)",
        "return PreTurnCrashed(gate.name)",
        "pre_turn.py::test_rejected_ask",
    ),
    _core(
        "C036: a failed handle_response ends the agent",
        "callbacks",
        "return decision if HOOKS[hook].on_failure is Meaning.STOPS else NoReply(m.agent_state)",
        "return NoReply(m.agent_state)",
        "failing_callbacks.py::test_handle_response_fails",
    ),
    _core(
        "C042: post_turn runs after the decision",
        "turn_end",
        '    transform(m, "post_turn", outcome, turn.request.ref)\n',
        "",
        "turn_end.py::test_success_of_a_tell",
    ),
    # states
    _core(
        "C061: only a running turn is interrupted",
        "machine",
        "on.InterruptAsked:     (ignore,              interrupt, ",
        "on.InterruptAsked:     (ignore,              ignore,    ",
        "rows_controls.py",
    ),
    _core(
        "C063: an interrupt names its request",
        "controls",
        "    if turn.request.ref != event.ref:\n",
        "    if False:\n",
        "rows_controls.py",
    ),
    _core(
        "C078: the slot comes before the queue",
        "dispatch",
        "    if m.slot is not None and not m.slot.pacing:\n",
        "    if m.slot is not None and not m.slot.pacing and not len(m.prompts):\n",
        "halting.py::test_next_work",
        "retry.py::test_slot_before_queue",
    ),
    _core(
        "C081: resume takes a pending halt back",
        "controls",
        "    m.active.halt_pending = False\n",
        "    pass\n",
        "halting.py::test_resume_takes_a_pending_halt_back",
    ),
    _core(
        "C085: what fails on a halt makes room first",
        "turn_end",
        "    if halting:\n        fail_waiting(m)\n",
        "",
        "halting.py::test_failing_requests_make_room_first",
    ),
    # the end of a turn
    _core(
        "C091: an ask's answer leaves after the batch",
        "turn_end",
        "    answer = deliver(m, turn.request, outcome, sealed)\n",
        "    m.out.append(deliver(m, turn.request, outcome, sealed))\n    answer = None\n",
        "turn_end.py::test_success_of_an_ask",
    ),
    _core(
        "C091: a completion does not wait for the callbacks behind it",
        "turn_end",
        "    return slow and any(",
        "    return False and any(",
        "turn_end.py::test_the_rest_waits_for_what_was_given_out",
    ),
    _core(
        "C078: what has waited does not overtake the rest of a turn's end",
        "machine",
        "        if self._model.rest is not None and not isinstance(event, on.Concluding):\n",
        "        if False:\n",
        "turn_end.py::test_the_rest_comes_before_what_has_waited",
        "turn_end.py::test_the_rest_comes_before_any_other_event",
    ),
    _core(
        "C098: late words change nothing",
        "working",
        "    return turn if turn is not None and (tag is turn.tag or tag == turn.tag) else None\n",
        "    return turn\n",
        "turn_end.py::test_late_words_of_finished_turns",
    ),
    _core(
        "C121: one request, one outcome",
        "working",
        "    if turn is None or turn.cause is not None:\n        return\n    outcome: Outcome",
        "    if turn is None:\n        return\n    outcome: Outcome",
        "requests.py::test_one_outcome_when_result_and_interrupt_race",
    ),
    _core(
        "C179: a worker that is being killed has no events any more",
        "working",
        "    if turn is None or turn.cause is not None:\n        return\n    await_event",
        "    if turn is None:\n        return\n    await_event",
        "streams.py::test_nothing_from_a_dying_worker",
    ),
    _core(
        "C188: nor checkpoints",
        "working",
        "    if turn is None or turn.cause is not None:\n        m.out.append(AnswerCheckpoint",
        "    if turn is None:\n        m.out.append(AnswerCheckpoint",
        "sessions.py::test_a_killed_turn_keeps_no_more_checkpoints",
    ),
    # requests from outside
    _core(
        "C108: a dead caller's queued asks are dropped",
        "controls",
        "    for ref in m.prompts.asks_of(event.caller):\n",
        "    for ref in ():\n",
        "rows_controls.py",
    ),
    _core(
        "C122: an active tell is not cancelled",
        "controls",
        'return "current" if turn.request.origin is Origin.TELL else "not_found"',
        'return "not_found"',
        "requests.py::test_cancel_cases",
    ),
    _core(
        "C123: a cancelled request is taken out",
        "controls",
        "return m.prompts.remove(ref) if queued is not None",
        "return queued if queued is not None",
        "requests.py::test_cancel_is_complete_when_answered",
    ),
    _core(
        "C031: a tell that pre_turn rejects is accepted",
        "admission",
        "        m.out.append(Answer(event.by, event.ref))\n",
        "        m.out.append(Answer(event.by, event.ref if m.turn else None))\n",
        "pre_turn.py::test_rejected_tell",
    ),
    # retries and self-chains
    _core(
        "C130: a retry keeps its ref",
        "requests",
        "prompt=prompt, size=size, attempt=self.attempt + 1)",
        "prompt=prompt, size=size)",
        "retry.py::test_retry_under_one_ref",
    ),
    _core(
        "C132: an interrupted request is not retried",
        "turn_end",
        " and not isinstance(outcome, Interrupted)",
        "",
        "retry.py::test_interrupted_is_never_retried",
    ),
    _core(
        "C141: a self-chain keeps to the byte cap",
        "generated",
        "    refusal = slot_refusal(m, payload_size(text))\n    if refusal is not None:\n",
        "    refusal = slot_refusal(m, payload_size(text))\n    if False:\n",
        "retry.py::test_self_chain_beyond_the_byte_cap",
    ),
    # queues and the cache
    _core(
        "C149: an exact fit is accepted",
        "queues",
        "elif incoming > self.max_bytes - size",
        "elif incoming >= self.max_bytes - size",
        "queues.py::test_exact_fit",
    ),
    _core(
        "C157: counters return to zero",
        "queues",
        "        self.size -= request.size\n",
        "",
        "queues.py::test_counters_return_to_zero",
    ),
    _core(
        "C159: the oldest result goes first",
        "results",
        "self.entries.popitem(last=False)",
        "self.entries.popitem()",
        "results.py::test_oldest_out_first",
    ),
    # events and streams
    _core(
        "C165: what is kept is a prefix",
        "capture",
        "        if self._first_omission is not None:\n            return\n",
        "",
        "capture.py::test_compact_keeps_a_prefix",
    ),
    _core(
        "C171: a boundary starts a paragraph",
        "capture",
        '            self._text.append("\\n\\n")\n',
        '            self._text.append("")\n',
        "turn.py::test_text_of_text_events",
    ),
    _core(
        "C174: the callback sees an event before the relay",
        "turn",
        "    ports.on_event(body)\n    run.seen += 1\n",
        "    run.seen += 1\n",
        "turn.py::test_order_per_event",
    ),
    _core(
        "C175: events go to who asked for them",
        "working",
        "    if request.stream_to is not None and event.run.count:\n",
        "    if request.stream_to is None and event.run.count:\n",
        "streams.py::test_runs_are_forwarded_unopened",
    ),
    # watchdog, session, status
    _core(
        "C182: the watchdog counts each attempt",
        "deadlines",
        'm.out.append(SetDeadline(Deadline("watchdog", turn.tag.turn), m.options.watchdog_s))',
        "pass",
        "streams.py::test_watchdog_counts_from_processing",
    ),
    _core(
        "C095: a failed turn keeps the old session",
        "turn",
        "    if isinstance(error, (BackendError, Undecodable)) and not run.seen:\n",
        "    if False:\n",
        "turn_session.py::test_session_after_each_ending",
    ),
    _core(
        "C189: a refused checkpoint fails the turn",
        "working",
        "        turn.fault = turn.fault or error\n",
        "        pass\n",
        "sessions.py::test_a_refused_checkpoint_fails_the_turn",
    ),
    _core(
        "C194: a waiting retry shows in the snapshot",
        "status",
        "self_chain_pending=m.slot is not None",
        "self_chain_pending=False",
        "retry.py",
        "halting.py::test_a_self_chain_survives_a_halt",
    ),
    # admissions, the end, telemetry
    _core(
        "C199: a refused submit is told so",
        "admission",
        "            m.out.append(Admit(event.recipient, event.ref, error))\n",
        "            pass\n",
        "rows_prompts.py",
    ),
    _core(
        "C088: a drain refuses what waits",
        "controls",
        "    m.state = State.DRAINING\n    _refuse_waiting(m)\n",
        "    m.state = State.DRAINING\n",
        "ends.py::test_drain_refuses_everything_else",
    ),
    _core(
        "C109: an orderly stop answers waiting asks",
        "exits",
        "    if m.slot is not None:\n        waiting.append(m.slot.request)\n",
        "",
        "ends.py::test_stop_answers_a_halted_retry",
    ),
    _core(
        "C220: a monitor sees no content",
        "beginning",
        'stop(m, "pre_run_failed", (failure.name,))',
        'stop(m, "pre_run_failed", (str(failure.refused),))',
        "beginning.py::test_pre_run_failures",
    ),
    _core(
        "C223: an error's kind is told",
        "report",
        "    if isinstance(error, (WatchdogTimeout, Interrupted, WorkerCrashed)):\n"
        "        return error.code\n",
        "",
        "telemetry.py::test_a_turn_that_fails",
    ),
    _core(
        "C235: turn events hold no content",
        "report",
        '        "origin": request.origin.value,\n',
        '        "origin": request.prompt,\n',
        "telemetry.py::test_turn_events_hold_no_content",
    ),
    _core(
        "C242: events and messages share one queue",
        "queues",
        "            self._entries.append(notice)\n",
        "            self._entries.appendleft(notice)\n",
        "turn_end.py::test_events_and_messages_share_one_fifo",
    ),
    Breakage(
        "C190: an accepted id outlives its turn in the same worker",
        "gen_agent/core/turn.py",
        "            self.base, self.kept_id = kept, session_id\n",
        "            self.kept_id = session_id\n",
        ("tests/contract/test_checkpoints.py::test_an_accepted_id_outlives_its_turn",),
    ),
)
