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
    # how values travel
    _outside(
        "C011: a tuple of a user's is never taken for one of our values",
        "wire",
        '{tuple: lambda value: ("", value)}',
        "{}",
        "test_wire.py::test_a_name_is_never_taken_for_one_of_our_values",
    ),
    _outside(
        "a word stands for a message of ours and for nothing else",
        "wire",
        "        if not issubclass(cls, Wire):\n",
        "        if False:\n",
        "test_wire.py::test_what_means_nothing_here_is_unreadable",
    ),
    _outside(
        "what is more than a place travels as it is",
        "actors/places",
        ' or details.bindname[0] != ""',
        "",
        "actors/test_places.py::test_what_is_more_than_a_place_travels_as_it_is",
    ),
    _outside(
        "a forged event spoils its own place alone",
        "events",
        "    if type(parts) is not tuple:\n",
        "    if False:\n",
        "test_events.py::test_a_forged_event_is_an_undecodable_in_its_place",
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
        "C014: a supervisor that takes no messages any more is not asked again",
        "actors/reach",
        "        return not doubted or self._greet(self._supervisor) is not None\n",
        "        return True\n",
        "actors/test_lost_supervisor.py::test_one_that_still_dies_is_not_asked_again",
    ),
    _outside(
        "C239: an actor's casts under a name come back",
        "client/actorside",
        "                returning=self._has_processes,\n",
        "",
        "actors/test_casts_by_name.py::test_an_actors_casts_go_to_the_next_holder",
        "actors/test_casts_by_name.py::test_an_agents_casts_go_to_the_next_holder",
    ),
    _outside(
        "C239: what waits behind a lost cast comes back with it",
        "actors/agent",
        "        for fate in (first, *[self._fates.pop(id(message)) for message in behind]):\n",
        "        for fate in (first,):\n",
        "actors/test_casts_by_name.py::test_an_agents_casts_go_to_the_next_holder",
    ),
    _outside(
        "C239: an actor's calls under a name come back",
        "client/actorside",
        "ticket = self._book.return_ticket(message) if self._has_processes else None",
        "ticket = self._book.return_ticket(message) if isinstance(message, Cast) else None",
        "actors/test_casts_by_name.py::test_an_actors_call_goes_to_the_next_holder",
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
        "actors/children",
        "    manager._child_procs = [info for info in _infos(parent) if info is not child._info]\n",
        "",
        "actors/test_children.py::test_a_child_forked_for_another_end_is_nobodys",
    ),
    _outside(
        "only a crowd has a spare",
        "actors/spare",
        "self._row >= CROWD and",
        "self._row >= 1 and",
        "actors/test_spare.py::test_only_a_crowd_has_a_spare",
    ),
    _outside(
        "a dead spare is not given out",
        "actors/spare",
        " and child.process.alive() else None",
        " else None",
        "actors/test_spare.py::test_a_dead_spare_is_not_given_out",
    ),
    _outside(
        "a spare that nobody takes ends",
        "actors/spare",
        "            kill_tree(self._child.process)\n",
        "",
        "actors/test_spare.py::test_an_idle_nursery_loses_its_spare",
    ),
    _outside(
        "the next agent is the spare",
        "actors/nursery",
        "self._spare.take() or self._fork()",
        "self._fork()",
        "actors/test_spare.py::test_the_next_agent_is_the_spare",
    ),
    _outside(
        "C219: a worker's lines leave it, though it runs no loop",
        "actors/workerlog",
        "            transport.run(TransmitOnly, _LEAVING)\n",
        "",
        "actors/test_worker_log.py",
    ),
    _outside(
        "C219: a process forked by a backend logs by a transport of its own",
        "actors/workerlog",
        "        if self._pid != os.getpid():\n",
        "        if False:\n",
        "actors/test_worker_log.py::test_a_backends_own_process_logs_too",
    ),
    _outside(
        "C099: one death does not hide another",
        "actors/children",
        "    manager._childExited = forget\n",
        "",
        "contract/test_ends.py::test_a_death_told_late_hides_none",
        "actors/test_children.py::test_of_each_dead_child_is_told",
    ),
    _outside(
        "C239: each gap in the casts of a sender has its own time",
        "actors/castorder",
        "            who.next += 1\n            who.since = now\n",
        "            who.next += 1\n",
        "actors/test_agent_parts.py::test_each_gap_has_its_own_time",
    ),
    _outside(
        "C180: what a worker has written is not lost with it, nor slept on",
        "actors/ring",
        "        if words[_WRITTEN] == self._read:\n            return True\n",
        "        return True\n",
        "actors/test_ring.py::test_what_comes_during_a_read_is_told_by_it",
    ),
    _outside(
        "C174: events keep their order whichever way they take",
        "actors/ring",
        "words[_HEARD] != self._elsewhere or ",
        "",
        "actors/test_ring.py::test_events_come_in_order_whichever_way_they_take",
    ),
    _outside(
        "a worker that is dead when a prompt comes is replaced for it",
        "actors/seat",
        "            if self._actor.watcher.wait_for((DEATH,), 0.0):\n",
        "            if False:\n",
        "faults/test_start_faults.py::test_a_worker_killed_idle_costs_nothing",
    ),
)
