"""The agent one talks to in `gen-agent chat`.

It is loaded in the agent's process, so this module must not need what the command line needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gen_agent.agent import Agent, NoReply
from gen_agent.events import Response
from gen_agent.values import RequestRef


class ChatAgent(Agent):
    """Hands its option `backend_options` to the backend and keeps nothing: the
    conversation is the session.
    """

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], None]:
        """The backend's options, and no state."""
        return options["backend_options"], None

    def handle_response(self, ref: RequestRef, response: Response, state: None) -> NoReply:
        """Nothing more to do."""
        return NoReply(state)
