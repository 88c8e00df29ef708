"""Endpoints that were replaced: what was posted through them before still leaves.

The law: whoever sends to one finds nobody, and so never waits for a script that has another address by now;
one through which everything has left is closed. This module must not know calls or agents.
"""

from __future__ import annotations

import itertools
import time

from gen_agent.actors.endpoint import Endpoint
from gen_agent.actors.watching import Watcher


class Retired:
    """The replaced endpoints of one client; `watcher` wakes it when one of them can get on."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._endpoints: dict[str, Endpoint] = {}
        self._numbers = itertools.count(1)

    def __contains__(self, key: object) -> bool:
        return key in self._endpoints

    def add(self, endpoint: Endpoint) -> None:
        """Take in an endpoint whose call was broken off."""
        endpoint.retire()
        key = f"replaced endpoint {next(self._numbers)}"
        self._endpoints[key] = endpoint
        descriptor = endpoint.descriptor()
        if descriptor is not None:
            self._watcher.add(descriptor, key)

    def go_on(self) -> None:
        """Send what can leave now, and close what has nothing left."""
        if self._endpoints:
            self.flush(0.0)

    def flush(self, seconds: float) -> bool:
        """Wait until everything has left, at most `seconds`; whether it has."""
        end = time.monotonic() + seconds
        for key, endpoint in tuple(self._endpoints.items()):
            if self._flushed(endpoint, max(0.0, end - time.monotonic())):
                self._end(key)
        return not self._endpoints

    def _flushed(self, endpoint: Endpoint, seconds: float) -> bool:
        try:
            return endpoint.flush(seconds)
        except BaseException:
            # Broken off once more: it is to be fit for the next time.
            endpoint.retire()
            raise

    def _end(self, key: str) -> None:
        self._watcher.remove(key)
        self._endpoints.pop(key).close()

    def close(self) -> None:
        """Give everything back; what has not left is lost."""
        for key in tuple(self._endpoints):
            self._end(key)
