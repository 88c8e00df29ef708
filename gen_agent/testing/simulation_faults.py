"""What goes wrong in a simulation, and how often; all of it is drawn from the seeded generator."""

from __future__ import annotations

import attrs


@attrs.frozen
class Faults:
    """Probabilities from 0 to 1.

    `delay_s`: the longest delay of a message. `no_worker`: a worker can't be started. `lost_events`: a
    relayed event is dropped on its way (admissions and completions never are). The others are the chance that
    a step of the load is, in place of a request, the crash of a worker, of a client, or of the agent, or an
    orderly stop.
    """

    delay_s: float = 0.02
    no_worker: float = 0.05
    lost_events: float = 0.1
    worker_crash: float = 0.03
    client_crash: float = 0.02
    agent_crash: float = 0.005
    agent_stop: float = 0.005


NO_FAULTS = Faults(0.001, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Messages take a moment, and nothing goes wrong."""
