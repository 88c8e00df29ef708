"""Breakages of our transport, each with the test that must notice it; run by `python -m tests.breakages`."""

from __future__ import annotations

from tests.breakage import Breakage

_FRAMES = "gen_agent/actors/frames.py"
_INBOX = "gen_agent/actors/inbox.py"
_LANES = "gen_agent/actors/lanes.py"
_LOOP = "gen_agent/actors/runloop.py"
_OUTBOX = "gen_agent/actors/outbox.py"
_SOCKETS = "gen_agent/actors/sockets.py"
_TRANSPORT = "gen_agent/actors/transport.py"
_TESTS = "tests/actors/test_transport_"


def _breakage(rule: str, file: str, old: str, new: str, *tests: str) -> Breakage:
    return Breakage(rule, file, old, new, tuple(f"{_TESTS}{test}" for test in tests))


BREAKAGES: tuple[Breakage, ...] = (
    _breakage(
        "C239: one lane, in order",
        _LANES,
        "        self.queue.append(intent)",
        "        self.queue.insert(self._flying, intent)",
        "order.py::test_burst",
    ),
    _breakage(
        "a frame's body is checked",
        _FRAMES,
        "        self._seal.check_body(body, digest)\n",
        "",
        "frames.py::test_any_change_is_noticed",
        "strangers.py::test_attacks",
    ),
    _breakage(
        "a header is checked before it is believed",
        _FRAMES,
        "if not hmac.compare_digest(tag, _mac(self._head, head)):",
        "if False:",
        "frames.py::test_announcing_is_not_believed",
    ),
    _breakage(
        "an answer belongs to its frame",
        _FRAMES,
        "told + _mac(self._answer, told + digest)",
        "told + _mac(self._answer, told)",
        "frames.py::test_answers_belong_to_a_frame",
    ),
    _breakage(
        "strangers get no answer",
        _INBOX,
        "        except (BadFrame, EOFError):\n",
        "        except (BadFrame, EOFError):\n            answers.append(b'no')\n",
        "strangers.py::test_attacks",
    ),
    _breakage(
        "strangers leave",
        _INBOX,
        "            if arrival.used_at + STRANGER_S > now:",
        "            if arrival.used_at + STRANGER_S + 99 > now:",
        "strangers.py::test_silent_strangers_leave",
    ),
    _breakage(
        "the door rests without descriptors",
        _INBOX,
        "        self._poller.remove(self._sock.fileno())\n        self._rest_until",
        "        self._rest_until",
        "strangers.py::test_no_descriptor_left",
    ),
    _breakage(
        "a dead target fails the whole lane",
        _OUTBOX,
        "        while lane.queue:\n            self._finish(lane, result)",
        "        self._finish(lane, result)",
        "lanes.py::test_closing",
    ),
    _breakage(
        "a proven connection's end is no refusal",
        _LANES,
        "        if not proven:\n            self.refusals += 1\n        return proven",
        "        self.refusals += 1\n        return False",
        "lanes.py::test_connection_lost_before_the_answer",
    ),
    _breakage(
        "refusals end",
        _OUTBOX,
        "            if lane.refusals >= REFUSALS:",
        "            if lane.refusals >= 99:",
        "strangers.py::test_another_key",
    ),
    _breakage(
        "what was taken is answered",
        _INBOX,
        "        if not self._say(arrival, answers) or not whole:",
        "        if not whole or not self._say(arrival, answers):",
        "strangers.py::test_bad_frame_after_good_ones",
    ),
    _breakage(
        "no more than a window is on its way",
        _LANES,
        "while self._flying < min(WINDOW, len(self.queue)) and",
        "while self._flying < len(self.queue) and",
        "lanes.py::test_window",
    ),
    _breakage(
        "a lane is bounded",
        _OUTBOX,
        "        elif lane.queue and self._is_full(lane, len(intent.serMsg.data)):",
        "        elif False:",
        "lanes.py::test_full_lane",
        "base.py::test_full_lane_of_an_actor",
    ),
    _breakage(
        "an answer nobody waits for wakes nobody",
        _OUTBOX,
        "self._poller.heed(waited_for or self._quiet_until is None)",
        "self._poller.heed(True)",
        "patience.py::test_a_patient_answer_wakes_nobody_and_is_read_in_passing",
    ),
    _breakage(
        "an answer somebody waits for ends the wait",
        _OUTBOX,
        "waited_for = hurry or self._hurried or self._hasty > 0",
        "waited_for = False",
        "patience.py::test_an_answer_somebody_waits_for_ends_the_wait",
    ),
    _breakage(
        "transmitting attends to nothing",
        _LOOP,
        "        aside = dict(self._attended)\n",
        "        aside = {}\n",
        "wakeups.py::test_transmitting_attends_to_nothing",
    ),
    _breakage(
        "messages come before what is attended to",
        _LOOP,
        "        for _ in range(len(self._arrived)):\n",
        "        while self._calls:\n            self._calls.popleft()()\n"
        "        for _ in range(len(self._arrived)):\n",
        "wakeups.py::test_messages_come_before_what_is_attended_to",
    ),
    _breakage(
        "loopback only",
        _SOCKETS,
        "        sock.bind((host, port))",
        '        sock.bind(("", port))',
        "strangers.py::test_loopback_only",
    ),
    _breakage(
        "inherited sockets are closed",
        _TRANSPORT,
        "            inherited._abandon()",
        "            pass",
        "strangers.py::test_loopback_only",
    ),
    _breakage(
        "wakeups outlast transmitting",
        _LOOP,
        "                self._complete()\n                pending",
        "                self._complete()\n                self._wakeups.take_due()\n                pending",
        "wakeups.py::test_wakeups_outlast_transmitting",
    ),
    _breakage(
        "draining tells what has finished",
        _LOOP,
        "(self._finished or not self._outbox.may_end()))",
        "not self._outbox.may_end())",
        "base.py::test_what_is_told_while_draining",
    ),
    _breakage(
        "the death chain",
        _TRANSPORT,
        "            self._join_death_chain(initType.gen_agent_parent)\n",
        "",
        "deathchain.py::test_death_chain",
    ),
    _breakage(
        "a late failure ends no later ask",
        "gen_agent/actors/posting.py",
        "        if self.awaited:\n            self._transport.abort_run()",
        "        self._transport.abort_run()",
        "order.py::test_late_failure[listen]",
    ),
    _breakage(
        "a fork's copy is abandoned, not closed",
        "gen_agent/actors/upkeep.py",
        "        if self._pid != os.getpid():\n            self._abandon()\n            return\n",
        "",
        "base.py::test_forked_copies_are_harmless",
    ),
    _breakage(
        "C129: a target that has everything holds up no end",
        _LOOP,
        "                if self._outbox.may_end():\n",
        "                if False:\n",
        "ends.py::test_a_client_that_does_something_else_holds_up_no_end",
    ),
    _breakage(
        "what is under way is not lost with its process",
        _OUTBOX,
        " and lane.all_delivered for lane",
        " for lane",
        "ends.py::test_what_is_under_way_is_waited_for",
    ),
    _breakage(
        "what the dead have sent is read to its end",
        _INBOX,
        "is still here, and read to its end.\n            return True\n",
        "is still here, and read to its end.\n            return False\n",
        "ends.py::test_what_the_dead_have_sent_is_read_to_its_end",
    ),
    Breakage(
        "an endpoint that was replaced takes nothing more",
        "gen_agent/actors/endpoint.py",
        "            transport.refuse()\n",
        "            pass\n",
        ("tests/actors/test_retired.py::test_who_sends_to_a_replaced_endpoint_finds_nobody[genAgentTCPBase]",),
    ),
    Breakage(
        "C239: what was sent before an interruption leaves",
        "gen_agent/actors/reach.py",
        "        self._retired.go_on()\n",
        "",
        (
            "tests/actors/test_retired.py::"
            "test_what_was_sent_before_an_interruption_arrives[genAgentTCPBase]",
        ),
    ),
    Breakage(
        "C181: a script that never reads has a bound",
        "gen_agent/actors/eventroom.py",
        "        if size > self._left:\n",
        "        if False:\n",
        ("tests/actors/test_mailbox.py::test_events_without_room_are_dropped_and_counted",),
    ),
    Breakage(
        "C243: an address used again delays nothing",
        "gen_agent/client/ordering.py",
        "        if self._keeps_order():\n",
        "        if False:\n",
        ("tests/actors/test_mailbox.py::test_what_went_to_a_predecessor_is_not_waited_for",),
    ),
    Breakage(
        "C254: a start that nobody can serve says so",
        "gen_agent/client/actorside.py",
        "        message = self._placing.unplaced(message) or message\n",
        "",
        ("tests/actors/test_placing.py::test_a_client_says_what_is_not_met[genAgentTCPBase-False]",),
    ),
)
