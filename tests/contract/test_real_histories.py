"""Random histories of public calls on a real agent, against the model of what it owes its clients.

Two clients take turns, others wait beside them in threads of their own. After each step everything that has
to come has come, to whom it is due and in its order, and the agent's counters are the model's; at the end
nothing else comes, and every accepted request has had one outcome, or its agent an end that was told.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from gen_agent.actors.system import AgentSystem
from tests.contract.history_controls import Ends


class Histories(Ends):
    """With their last page."""

    def let_everything_end(self) -> None:
        """Nothing but what was due has come, and every accepted request has had its one outcome."""
        client, _ = self.act("anna", False)
        while self.model.active is not None or self.model.halted:
            if self.model.halted:
                client.resume(self.agent)
                self.model.resume()
            else:
                self.let_through()
            self.all_is_as_it_has_to_be()
        assert self.ledger.balanced()
        assert self.readers == {}
        for desk in self.desks.values():
            assert desk.silent(self.agent)


@pytest.mark.bases
@pytest.mark.timeout(10_800)
def test_a_real_agent_owes_what_the_model_says(house: AgentSystem) -> None:
    """C052-C070, C112, C115, C117, C122, C126, C130, C147-C158, C175-C179, C196, C200-C202, C211, C213,
    C239-C247, C255: one outcome each, in order; counters as the model's."""
    machine = type("OnThisSystem", (Histories,), {"house": house})
    often = 50 if settings().max_examples >= 5_000 else 1
    # What real processes do is not repeated well enough to look for a smaller history.
    plan = settings(max_examples=8 * often, stateful_step_count=40, phases=(Phase.generate,))
    run_state_machine_as_test(machine, settings=plan)
