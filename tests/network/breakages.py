"""Breakages of what makes several machines and a hostile network bearable, for `python -m tests.breakages`.

Those whose tests need another machine or long waits are left to the fault suite.
"""

from __future__ import annotations

from tests.breakage import Breakage


def _breakage(rule: str, file: str, old: str, new: str, *tests: str) -> Breakage:
    return Breakage(
        rule, f"gen_agent/actors/{file}.py", old, new, tuple(f"tests/network/test_{test}" for test in tests)
    )


BREAKAGES: tuple[Breakage, ...] = (
    _breakage(
        "a recorded message is not taken twice",
        "freshness",
        "        if number <= self._last.get(sender, 0):\n            return False\n",
        "",
        "freshness.py::test_each_message_is_taken_once",
        "strangers.py::test_what_was_recorded_on_the_network_says_nothing_new",
    ),
    _breakage(
        "a message is for one process",
        "freshness",
        " or body[:PLACE_BYTES] != self._own",
        "",
        "freshness.py::test_what_was_sent_to_another_is_foreign",
    ),
    _breakage(
        "a message is from where its stamp says",
        "freshness",
        "body[PLACE_BYTES:_NUMBER_AT]",
        "body[:PLACE_BYTES]",
        "freshness.py::test_a_stamp_tells_where_the_message_is_from",
    ),
    _breakage(
        "nothing is unpickled before its seal was checked",
        "frames",
        "        self._seal.check_body(body, digest)\n",
        "",
        "strangers.py::test_nothing_a_stranger_sends_runs_or_harms",
    ),
    _breakage(
        "actors listen where the system is bound",
        "transport",
        "            return listener(self.bind_host, 0)\n",
        '            return listener("127.0.0.3", 0)\n',
        "strangers.py::test_everything_listens_on_loopback_only",
        "strangers.py::test_a_system_that_is_bound_elsewhere_is_bound_there_altogether",
    ),
    _breakage(
        "C255: a system that is not heard of has lost its agents",
        "heartbeat",
        "        return self._missed <= MISSED\n",
        "        return True\n",
        "outposts.py::test_beats_that_are_not_answered_end_in_a_loss",
        "outposts.py::test_a_far_supervisor_is_greeted_every_second",
    ),
    _breakage(
        "an answered beat counts",
        "heartbeat",
        "        self._missed = 0\n\n    def beat",
        "        pass\n\n    def beat",
        "outposts.py::test_beats_that_are_answered_go_on",
    ),
    _breakage(
        "nothing beats where nobody is",
        "outposts",
        "            self._host.send(post.child.address, Dismiss())\n\n    # ----",
        "            self._posts[post.number] = post\n\n    # ----",
        "outposts.py::test_nothing_beats_where_nobody_is",
    ),
    _breakage(
        "C014: agents elsewhere end when their supervisor dies",
        "outpost",
        "        os._exit(1)\n",
        "        self.watcher.remove(_SUPERVISOR)\n",
        "two_systems.py::test_the_supervisor_at_home_is_killed",
    ),
    _breakage(
        "C047: a system that ends has its guests end before",
        "abroad",
        "            self.send(lodger, Evict())\n",
        "            pass\n",
        "two_systems.py::test_the_other_system_is_closed",
    ),
    _breakage(
        "C255: another system's supervisor tells of its own",
        "legacy",
        "            self._host.send_or(actor_of(where), Relay(question, sender), gone)\n",
        "            gone()\n",
        "two_systems.py::test_an_agent_of_the_other_system",
    ),
    _breakage(
        "C019: an agent elsewhere knows the names of its own system",
        "agent",
        "        return self.starting.registrar if self.begun and self.starting.away else None\n",
        "        return None\n",
        "two_systems.py::test_an_agent_elsewhere_reaches_those_at_home_by_name",
    ),
    _breakage(
        "C108: a queued ask on another machine goes with its caller",
        "life",
        "            self._host.far_callers.call(effect.caller)\n",
        "            pass\n",
        "callers.py::test_an_agent_drops_the_ask_of_a_far_caller_that_is_gone",
    ),
    _breakage(
        "C108: a far caller that drops a connection is there",
        "callers",
        "        if error in _ANSWERED:\n            self._doubted.discard(caller)\n        else:\n",
        "        if error not in _ANSWERED:\n",
        "callers.py::test_one_silence_is_not_the_end",
    ),
    _breakage(
        "C108: nothing is held of a far caller of whom nothing waits",
        "callers",
        "        self._host.clear_deadline(caller)\n        self._close(caller)\n",
        "        self._host.clear_deadline(caller)\n",
        "callers.py::test_nobody_waits_any_more",
    ),
    _breakage(
        "C001: requirements are met",
        "outposts",
        "        return not meets(self._host.capabilities, requirements)\n",
        "        return False\n",
        "two_systems.py::test_what_a_script_does_with_an_agent_elsewhere",
        "two_systems.py::test_requirements_that_a_system_by_itself_does_not_meet",
    ),
    _breakage(
        "two machines of one name are told",
        "identity",
        "    if other is None or other == machine():\n        return None\n",
        "    return None\n",
        "outposts.py::test_two_machines_of_one_name_do_not_work_together",
    ),
    _breakage(
        "a leader has to reach its members",
        "convention",
        '    if away and bind.startswith("127."):\n',
        "    if not away:\n",
        "joining.py::test_a_leader_that_could_not_answer",
    ),
)
