"""Breakages around the core: contracts, processes, clients, backends; run by `python -m tests.breakages`."""

from __future__ import annotations

from tests.breakage import Breakage


def _outside(rule: str, file: str, old: str, new: str, *tests: str) -> Breakage:
    return Breakage(rule, f"gen_agent/{file}.py", old, new, tuple(f"tests/{test}" for test in tests))


BREAKAGES: tuple[Breakage, ...] = (
    # what users write
    _outside(
        "C003: a bad limit is refused in the caller",
        "options",
        "        validator=_whole(least),\n",
        "",
        "test_options.py::test_bad_limits",
    ),
    _outside(
        "C006: a reserved option is not forwarded",
        "options",
        "for key in RESERVED & options.keys()}",
        "for key in RESERVED & options.keys() - {'watchdog_s'}}",
        "test_options.py::test_the_rest_is_forwarded",
    ),
    _outside(
        "C011: names compare with their type",
        "values",
        "    return (type(name).__name__, name)\n",
        "    return (name if isinstance(name, str) else str(name),)\n",
        "test_values.py::test_names_compare_with_their_type",
    ),
    _outside(
        "C238: a raising handler is detached",
        "telemetry",
        "            del _handlers[handler_id]\n",
        "            pass\n",
        "test_telemetry.py::test_a_raising_handler_is_detached_and_logged_once",
    ),
    # clients
    _outside(
        "C104: a call whose holder died ends",
        "client/callbook",
        "            if pending.holder != holder:\n                continue\n",
        "            if pending.holder == holder:\n                continue\n",
        "actors/test_system_ends.py::test_a_call_ends_when_its_agent_is_killed",
    ),
    _outside(
        "C211: another incarnation is not served",
        "actors/reception",
        "if message.incarnation is not None and message.incarnation != actor.starting.address.incarnation:",
        "if False:",
        "actors/test_agent_bases.py::test_another_incarnation_is_not_served",
    ),
    _outside(
        "C243: deliveries are put in order",
        "client/ordering",
        "            self.next += 1\n        return ready\n",
        "            self.next += 1\n        return ready[::-1]\n",
        "client/test_ordering.py",
    ),
    _outside(
        "a mailbox keeps what was not acknowledged",
        "actors/mailbox",
        "        while self._items and self._first <= acked:\n",
        "        while self._items:\n",
        "actors/test_mailbox.py",
    ),
    # processes
    _outside(
        "C119: a kill takes what the worker started",
        "actors/processes",
        "        for process in _freeze(root):\n",
        "        for process in ():\n",
        "actors/test_processes.py",
    ),
    _outside(
        "a reused pid is another process",
        "actors/process_tree",
        "return stat is not None and stat.start_time == self.start_time and not stat.dead",
        "return stat is not None and not stat.dead",
        "actors/test_processes.py::test_a_reused_pid_is_another_process",
    ),
    # backends
    _outside(
        "a cut stream is an error",
        "backends/chat_reading",
        "        if self._finish is None:\n",
        "        if False:\n",
        "backends/test_openai.py::test_half_answers_are_errors",
    ),
    _outside(
        "C258: too many requests may be retried",
        "backends/failures",
        '429: "rate_limited"',
        '428: "rate_limited"',
        "backends/test_openai.py::test_statuses",
    ),
    _outside(
        "C098: the end of a worker is nobody's message",
        "actors/reception",
        "            if message.childAddress in self._actor.seat.addresses:\n",
        "            if False:\n",
        "contract/test_ends.py::test_a_workers_end_is_nobodys_message",
    ),
    _outside(
        "C099: one death does not hide another",
        "actors/children",
        "        manager.childDied()\n",
        "        pass\n",
        "contract/test_ends.py::test_a_death_told_late_hides_none",
    ),
    _outside(
        "a worker that is dead when a prompt comes is replaced for it",
        "actors/seat",
        "            if self._actor.watcher.wait_for((DEATH,), 0.0):\n",
        "            if False:\n",
        "faults/test_start_faults.py::test_a_worker_killed_idle_costs_nothing",
    ),
)
