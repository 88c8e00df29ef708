"""How an agent actor becomes an agent: settle in, load, register if nobody did, initialise, first worker,
ready.

Each step may fail, and a failed start is told to the starter with its error and ends the process; neither
`terminate_agent` nor `terminate_session` runs then (C016-C018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gen_agent.actors.absence import is_gone
from gen_agent.actors.boot import Parts, load_parts
from gen_agent.actors.children import CannotCreate
from gen_agent.actors.context import AgentContext
from gen_agent.actors.courier import Courier
from gen_agent.actors.household import Household
from gen_agent.actors.identity import new_incarnation
from gen_agent.actors.intake import Asker
from gen_agent.actors.internal import AgentFailed, AgentUp, Begin, Ending, Register
from gen_agent.actors.life import Life
from gen_agent.actors.localseat import LocalSeat
from gen_agent.actors.processes import ProcessId, open_descriptors
from gen_agent.actors.reporting import Reporter
from gen_agent.actors.seat import Port, WorkerSeat
from gen_agent.actors.service import Seed, sealed_error
from gen_agent.actors.settling import settle_in
from gen_agent.client.protocol import SUPERVISOR, SUPERVISOR_CLASS
from gen_agent.core import signals
from gen_agent.core.hooks import Hooks, streams
from gen_agent.core.machine import Machine
from gen_agent.errors import GenAgentError, InitFailed, StartError
from gen_agent.messages import Reply, StartAgent
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, CallRef, mint

if TYPE_CHECKING:
    from gen_agent.actors.agent import AgentActor

SUPERVISOR_DEATH = "the supervisor's death"


class Starting:
    """One start of one agent actor."""

    def __init__(self, actor: AgentActor, begin: Begin, starter: Asker | None) -> None:
        self._actor, self._begin, self._starter = actor, begin, starter
        self.address = AgentAddress(begin.start.name, new_incarnation(), actor.myAddress)
        self.registrar: Any = begin.registrar
        self.registration: CallRef | None = None
        self.keep = begin.keep
        self.away = begin.away
        self.parts: Parts | None = None
        self.seed: Seed | None = None
        self._hooks: Hooks | None = None
        self._state: Any = None

    def run(self) -> None:
        """Go as far as it goes without waiting: to the registration, or to the first worker."""
        actor = self._actor
        if actor.has_processes:
            settle_in(actor, self._begin)
        try:
            self.parts = parts = self._load()
        except StartError as error:
            self.fail(error)
            return
        self._assemble(parts)
        if self._starter is None:
            self._follow(self._begin.supervisor_pid)
            self._initialise()
        else:
            self._register(parts)

    def _load(self) -> Parts:
        if not self._actor.has_processes:
            return load_parts(self._begin.start)
        before = open_descriptors()
        try:
            return load_parts(self._begin.start)
        finally:
            # What users' modules opened at their top level is theirs, in workers too.
            self.keep = (*self.keep, *(open_descriptors() - before))

    def _assemble(self, parts: Parts) -> None:
        actor, options = self._actor, parts.options
        household = Household() if actor.has_processes else None
        who, limit = self.address, options.max_relay_events
        courier = Courier(actor.transmit, who.name, who.incarnation, limit, actor.hasten, is_gone)
        life = Life(actor, self.address, courier, household)
        self._hooks = life.hooks(parts.agent)
        reporter = Reporter(self.address.name, parts.module, options.telemetry_to, life.send)
        machine = Machine(
            self.address.name,
            options,
            self._hooks,
            reporter.emit,
            reporter.log,
            self.address.incarnation.nonce,
            reporter.heard,
        )
        life.begin(machine, options.max_pending_prompts)
        parts.agent.context = AgentContext(actor, self.address, actor.wake_user)
        actor.settled(life, courier, household, reporter)

    # ---------------------------------------------------------------- registration

    def _register(self, parts: Parts) -> None:
        supervisor = self._actor.createActor(SUPERVISOR_CLASS, globalName=SUPERVISOR)
        self.registrar, self.registration = supervisor, mint.call()
        parent = self._starter.sender if self._starter is not None else None
        message = Register(self.address, self.registration, parent, parts.options.shutdown_s)
        self._actor.transmit(supervisor, message, _nothing)

    def registered(self, reply: Reply) -> None:
        """The supervisor has answered: the name is ours, or taken."""
        self.registration = None
        if reply.error is not None:
            self.registrar = None
            self.fail(reply.error)
            return
        self._follow(reply.value)
        self._initialise()

    def _follow(self, supervisor_pid: int | None) -> None:
        if supervisor_pid is None or not self._actor.has_processes:
            return
        try:
            watched = self._actor.watcher.add_process(ProcessId.of(supervisor_pid), SUPERVISOR_DEATH)
        except ProcessLookupError:
            watched = False
        if not watched:
            self._actor.soon(self._actor.supervisor_lost)

    # ---------------------------------------------------------------- initialisation

    def _initialise(self) -> None:
        parts, hooks = self.parts, self._hooks
        if parts is None or hooks is None:
            return
        result = hooks.start(parts.forwarded)
        if self._actor.household is not None:
            self._actor.household.leave()
        if isinstance(result, StartError):
            self.fail(result)
            return
        backend_options, self._state = result
        self.seed = Seed(self.address.name, type(parts.agent), parts.backend, backend_options, parts.options)
        try:
            self._actor.seat_worker(self._seat(self.seed))
        except CannotCreate as error:
            self.fail(InitFailed("spawn", type(error).__name__))

    def _seat(self, seed: Seed) -> WorkerSeat | LocalSeat:
        actor, life, household = self._actor, self._actor.life, self._actor.household
        if household is None:
            actor.reporter.log(
                "warning", "no processes here: interrupts find nothing, watchdogs are not enforced"
            )
            return LocalSeat(seed, life.step, self.booted, life.later, actor.reporter.log)
        return WorkerSeat(actor, seed, household, Port(life.feed, self.booted), self.keep)

    def booted(self, session: Sealed | None, error: GenAgentError | None) -> None:
        """The first worker is ready, or there is none."""
        if session is None or error is not None or self.seed is None:
            refused = error if isinstance(error, StartError) else None
            reason = "" if error is None else str(error.fields.get("reason", error.code))
            self.fail(refused or InitFailed("worker", reason))
        else:
            self._actor.life.feed(signals.Booted(self._state, session, streams(self.seed.agent)))

    # ---------------------------------------------------------------- the answer

    def answer(self) -> None:
        """Tell the starter; `pre_run` follows when that has left, or a blocking one would hold it back
        (C024).
        """
        self._tell(self.address, None)

    def fail(self, error: GenAgentError) -> None:
        """Tell the starter why there is no agent, and end; a name that was registered is free by then."""

        def told() -> None:
            self._tell(None, error)
            self._actor.give_up()

        if self._starter is None or self.registrar is None:
            told()
        else:
            ending = Ending(self.address.incarnation, "shutdown", never_up=True)
            self._actor.transmit(self.registrar, ending, told)

    def _tell(self, address: AgentAddress | None, error: GenAgentError | None) -> None:
        actor = self._actor
        done = _nothing if error is not None else lambda: actor.soon(actor.run_began)
        told = None if error is None else sealed_error(error)
        if self._starter is not None:
            actor.transmit(self._starter.sender, Reply(self._starter.call, address, told), done)
        elif address is not None:
            limit = self.parts.options.shutdown_s if self.parts is not None else None
            actor.transmit(self.registrar, AgentUp(self._begin.token, address, limit), done)
        elif told is not None:
            actor.transmit(self.registrar, AgentFailed(self._begin.token, told), done)


def begin_alone(actor: AgentActor, start: StartAgent, sender: Any) -> Starting:
    """A start by plain Thespian: the starter is answered, and the supervisor is told of the agent."""
    return Starting(actor, Begin(start, 0, None), Asker(sender, start.call))


def _nothing() -> None:
    """Nobody waits for this."""
