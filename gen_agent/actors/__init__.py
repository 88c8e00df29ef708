"""The actors of gen_agent, and the system base they prefer.

Importing this package makes the name `genAgentTCPBase` known to `ActorSystem`; Thespian itself is loaded when
that name, or a module of this package that needs it, is used.
"""

from __future__ import annotations

import importlib
import sys
import types

_BASE_MODULE = "thespian.system.genAgentTCPBase"


class _LazyBase(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name != "ActorSystemBase":
            raise AttributeError(name)
        return importlib.import_module("gen_agent.actors.base").ActorSystemBase


sys.modules.setdefault(_BASE_MODULE, _LazyBase(_BASE_MODULE))
