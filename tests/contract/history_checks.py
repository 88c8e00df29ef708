"""What is compared with the model after each step of a real history, and at the end of each agent."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from hypothesis.stateful import invariant

from tests.contract.history_desk import Beside, answer
from tests.contract.history_players import MOST_RESTARTS, ORIGINS, Players
from tests.contract.history_waiting import MAX_NOTICE_BYTES, MAX_PROMPT_BYTES
from tests.contract.troupe import PATIENCE_S, kill


class Checks(Players):
    """All is as it has to be."""

    # ---------------------------------------------------------------- after each step

    @invariant()
    def all_is_as_it_has_to_be(self) -> None:
        """What is due has come, and the agent is where the model is; if it is gone, the next one is begun."""
        self.age += 1
        if self.model.gone is not None:
            self.ended(self.model.gone)
        if self.model.active is not None:
            # A cast that has not left at once leaves with the next call.
            self.snapshot()
            self.troupe.stage.wait_blocked("here", PATIENCE_S)
        self.read_due()
        self.compare_counters()
        self.measure_queues()

    def read_due(self) -> None:
        """Everyone reads what is due, in its order."""
        due, self.model.due = self.model.due, {}
        loosely, self.loosely = self.loosely, False
        for key, what in due.items():
            if key in self.desks:
                desk = self.desks[key]
                (desk.read_by_request if loosely else desk.read)(what)
            else:
                self.read_beside(key, what)

    def read_beside(self, key: str, due: list[Any]) -> None:
        """A stream or a blocking call gets what is due to it."""
        reader = self.readers[key]
        reader.read(due)
        if isinstance(reader, Beside):
            self.helpers.append(reader.client)
        if isinstance(reader, Beside) or reader.ended:
            del self.readers[key]

    def compare_counters(self) -> None:
        """Snapshot and status say what the model knows."""
        model, snapshot = self.model, self.snapshot()
        status, current = self.acting.client.status(self.target), snapshot.current_request
        flags = (model.halted, model.halt_pending, model.draining)
        assert (snapshot.halted, snapshot.halt_pending, snapshot.draining) == flags
        assert (status.halted, status.halt_pending, status.draining) == flags
        assert (snapshot.pending_prompts, snapshot.pending_notifications) == (
            len(model.queue),
            len(model.deferred),
        )
        assert (status.queued, status.state) == (len(model.queue), snapshot.phase)
        assert snapshot.self_chain_pending == (model.slot is not None)
        assert (current is None) == (model.active is None)
        if current is not None and model.active is not None:
            if model.active.ref is None:  # nobody but the agent knew it
                model.active.ref = current.ref
                self.refs.append(current.ref)
            assert (current.ref, current.attempt) == (model.active.ref, model.active.attempt)
            assert current.origin in ORIGINS[model.active.origin]
            assert status.current_request == current.ref

    def measure_queues(self) -> None:
        """What is one byte too large for an empty queue is refused with the counts of the one there is."""
        model, client = self.model, self.acting.client
        if model.draining or (model.active is None and not model.halted):
            return
        large = "x" * (MAX_PROMPT_BYTES + 1)
        assert answer(lambda: client.tell(self.target, large)) == model.refusal(large)
        if model.active is not None:
            large = "x" * (MAX_NOTICE_BYTES + 1)
            found = answer(lambda: client.notify_ack(self.target, large))
            assert found == model.notice_overload(len(large))

    # ---------------------------------------------------------------- ends

    def stopped(self, reason: str) -> None:
        """The agent was ended from outside, and its worker with it."""
        if self.model.active is not None:
            self.troupe.stage.wait_gone("here", PATIENCE_S)
        self.model.end(reason)

    def ended(self, reason: str) -> None:
        """What was due has come, then the `Down`s; the name is free, the last words were said; begin anew."""
        self.read_due()
        for desk in self.desks.values():
            desk.downs(self.agent, reason)
            assert self.comes_back(reason) or desk.client.whereis("a") is None
        self.ledger.forget(self.model.lost)
        self.read_diary(reason)
        self.dead.append(self.agent)
        if self.comes_back(reason):
            self.come_back()
        else:
            self.begin(self.acting.name)

    def come_back(self) -> None:
        """The agent has been restarted: fresh, under its name (C013)."""
        client = self.acting.client
        self.troupe.until(lambda: client.whereis("a") not in (None, self.agent))
        self.restarts += 1
        if self.restarts < MOST_RESTARTS:
            self.lives(client.whereis("a"), self.acting.name)
        else:
            client.stop("a", timeout=PATIENCE_S)
            self.begin(self.acting.name)

    def read_diary(self, reason: str) -> None:
        """Every event that was taken was handled, in order, every halt ran `post_run`, and after a kill
        nothing was said."""
        with open(self.diary) as file:
            lines = file.read().splitlines()[self.read_lines :]
        self.read_lines += len(lines)
        events = [line.partition(" ")[2] for line in lines if line.startswith("handle_event")]
        assert events == self.model.noticed
        assert len([line for line in lines if line.startswith("post_run")]) == self.model.halts
        last = [f"terminate_agent {reason}", f"terminate_session {self.model.turns}"]
        last = [] if reason == "killed" else last
        assert [line for line in lines if line.startswith("terminate")] == last

    def kill(self) -> None:
        """The agent's process is killed."""
        kill(self.agent)
        self.stopped("killed")

    def kill_worker(self) -> None:
        """The worker's process is killed, at its gate."""
        os.kill(self.troupe.stage.wait_blocked("here", PATIENCE_S), signal.SIGKILL)
        self.troupe.stage.wait_gone("here", PATIENCE_S)

    def teardown(self) -> None:
        """The rest of the history, and the end of its agent, whatever became of it."""
        with self.owned:
            try:
                if sys.exc_info()[0] is None:
                    self.let_everything_end()
            finally:
                client = self.desks["anna"].client
                if client.whereis("a") is not None:
                    client.stop("a", timeout=PATIENCE_S)
                for reader in self.readers.values():
                    if isinstance(reader, Beside):
                        reader.join(PATIENCE_S)

    def let_everything_end(self) -> None:
        """Nothing but what was due has come, and every accepted request has had its one outcome."""
        raise NotImplementedError
