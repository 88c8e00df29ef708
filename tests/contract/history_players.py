"""Who takes part in a real history: an agent, clients that take turns, one of them in an actor, those who
wait beside them, and the model of it all."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from gen_agent import AgentAddress, RequestRef, child_spec
from gen_agent.actors.system import AgentSystem, Client
from gen_agent.backends.stage import Stage
from tests.bases import OWN
from tests.contract.cast import HALT, RAISE, SKIP, Puppet, say
from tests.contract.history_actor import Behind, Posted
from tests.contract.history_desk import Beside, Desk, Ledger, Reader, answer
from tests.contract.history_model import Model
from tests.contract.history_waiting import (
    FOLLOW_UP,
    MAX_NOTICE_BYTES,
    MAX_NOTICES,
    MAX_PROMPT_BYTES,
    MAX_PROMPTS,
    MAX_RESULTS,
    PROMPTS,
)
from tests.contract.stagehand import Resettable
from tests.contract.troupe import PATIENCE_S, Troupe

BOOK = {
    ("handle_error", "no_terminal_event"): say(FOLLOW_UP),
    ("handle_response", PROMPTS["chain"]): say(FOLLOW_UP),
    ("handle_response", PROMPTS["doom"]): RAISE,
    ("pre_turn", "skip"): SKIP,
    ("pre_turn", "pause"): HALT,
    ("handle_event", "go"): say(FOLLOW_UP),
    ("handle_event", "stop"): HALT,
}
LIMITS = {
    "max_pending_prompts": MAX_PROMPTS,
    "max_pending_prompt_bytes": MAX_PROMPT_BYTES,
    "max_pending_notifications": MAX_NOTICES,
    "max_pending_notification_bytes": MAX_NOTICE_BYTES,
    "max_tell_results": MAX_RESULTS,
}
LONG_S = 6 * PATIENCE_S
"""How long whoever waits beside a history may have to wait for its next steps."""

SCRIPTS = ("anna", "bert")
ACTOR = "carl"
RESTARTS = ("temporary", "transient", "permanent")
MOST_RESTARTS = 3
"""How often an agent is restarted in a row at most."""

ORIGINS = {"tell": ("tell",), "ask": ("ask",), "own": ("self_chain", "event")}
ONCE_IN_A_WHILE = ("doom", "pause")
words = st.sampled_from([word for word in PROMPTS if word not in ONCE_IN_A_WHILE] * 3 + [*ONCE_IN_A_WHILE])
on_halts = st.sampled_from(["queue", "queue", "fail"])
which = st.integers(0, 20)
whos = st.sampled_from([*SCRIPTS, ACTOR])
scripts = st.sampled_from(SCRIPTS)
hows = st.booleans()


class Players(RuleBasedStateMachine):
    """An agent, clients that take turns, and the model of it all."""

    house: AgentSystem

    def __init__(self) -> None:
        super().__init__()
        self.owned = contextlib.ExitStack()
        self.ledger = Ledger()
        self.actor = Behind(self.private())
        self.owned.callback(self.actor.close)
        clients = {**{name: self.private() for name in SCRIPTS}, ACTOR: self.actor}
        self.desks = {name: Desk(name, client, self.ledger) for name, client in clients.items()}
        stage = self.owned.enter_context(Stage())
        self.diaries = self.owned.enter_context(tempfile.TemporaryDirectory())
        self.troupe = Troupe(self.desks["anna"].client, stage, OWN)
        self.helpers: list[Client] = []
        self.readers: dict[str, Reader | Beside | Posted] = {}
        self.refs: list[RequestRef] = []
        self.dead: list[Any] = []
        self.numbers = itertools.count(1)
        self.begin("anna")

    def private(self) -> Client:
        """One more client."""
        return self.owned.enter_context(self.house.private())

    def begin(self, who: str) -> None:
        """A new agent, started by a script: an actor would be the parent of what it starts by its spec."""
        number, who = next(self.numbers), SCRIPTS[0] if who == ACTOR else who
        self.diary, self.restarts, self.read_lines = os.path.join(self.diaries, str(number)), 0, 0
        client, stage = self.desks[who].client, self.troupe.stage.address
        options: dict[str, Any] = {"book": BOOK, "stage": stage, "diary": self.diary, **LIMITS}
        if number % 3 == 0:
            self.restart = "temporary"
            agent = client.start_agent(Puppet, name="a", backend=Resettable, **options)
        else:
            self.restart = RESTARTS[number // 3 % 3]
            options["restart"] = self.restart
            agent = client.start_child(child_spec(Puppet, name="a", backend=Resettable, **options))
        self.lives(agent, who)

    def lives(self, agent: AgentAddress, who: str) -> None:
        """A new incarnation, watched by all, by name or by address."""
        self.age, self.model, self.agent = 0, Model(), agent
        self.loosely = False  # whether requests under way at once may be told of in any order
        self.act(who, bool(next(self.numbers) % 2))
        for desk, target in zip(self.desks.values(), ("a", agent, "a"), strict=True):
            desk.monitors.add(desk.client.monitor(target))

    def comes_back(self, reason: str) -> bool:
        """Whether an agent that ended so is restarted (C012, C013)."""
        return self.restart != "temporary" and reason in ("killed", "callback_failed")

    def act(self, who: str, named: bool) -> tuple[Any, Any]:
        """The client whose step it is, and the agent by name or by address, as it calls it."""
        self.acting, self.target = self.desks[who], "a" if named else self.agent
        return self.acting.client, self.target

    def snapshot(self) -> Any:
        """What the agent says of itself, after everything that was sent to it in this step; a code if it is
        gone."""
        return answer(lambda: self.acting.client.runtime_snapshot(self.target))

    def attempt(self) -> Any:
        """What runs, None, or the code that says that the agent is gone."""
        snapshot = self.snapshot()
        current = snapshot if isinstance(snapshot, str) else snapshot.current_request
        return current if current is None or isinstance(current, str) else (current.ref, current.attempt)

    def let_through(self) -> None:
        """Open the gate; the turn comes to its end."""
        before = self.attempt()
        self.troupe.release()
        self.troupe.until(lambda: self.attempt() != before)
        self.model.finish()

    def ref(self, number: int) -> RequestRef:
        """One of the latest refs, those of dead incarnations included."""
        return self.refs[-1 - number % min(len(self.refs), 8)]

    def new_key(self, kind: str) -> str:
        """A key of `Model.due`."""
        return f"{kind} {next(self.numbers)}"

    def beside(self, kind: str, call: Callable[[Client], Any]) -> str:
        """Have a blocking call made in another thread; returns its key."""
        key = self.new_key(kind)
        self.readers[key] = Beside(self.helpers.pop() if self.helpers else self.private(), call)
        return key
