"""Rules of the contract that differ here or don't apply, each with the reason.

`DIFFERENCES` are rules that hold in another form, tested in that form;
`EXCEPTIONS` are rules without any test.
"""

from __future__ import annotations

DIFFERENCES: dict[str, str] = {
    "C003": (
        "A bad limit is a ValueError or TypeError in the caller, before a process exists: clearer and "
        "nothing to clean up."
    ),
    "C004": (
        "None means the default for every limit but watchdog_s, idle_watchdog_s and shutdown_s, where it "
        "means no limit."
    ),
    "C005": "A bad shutdown_s is a ValueError or TypeError in the caller, like every other option.",
    "C006": (
        "The consumed keys are the reserved options of AgentOptions; `options={...}` forwards one that "
        "collides."
    ),
    "C007": "A worker is its agent's child, so there is no task supervisor to name.",
    "C011": (
        "An address is a type of its own and can't be a name: passing one where a name is wanted is a "
        "TypeError."
    ),
    "C015": (
        "A worker is its agent's child: agents end their workers, and a lost supervisor ends the agents "
        "in an orderly way."
    ),
    "C028": "Callbacks return decision values; a Proceed whose prompt is not a str is the bad shape.",
    "C042": "post_turn returns bare state; None for a state that was not None counts as a forgotten return.",
    "C128": "Stream callbacks run in the worker and have no client, so that half can't be tried.",
    "C137": (
        "The worker is unavailable when a replacement can't start: its backend's constructor raises or "
        "it dies at once."
    ),
    "C149": "Sizes have no constant overhead: one more byte is refused.",
    "C191": "checkpoint_session runs in the worker; a raise there is WorkerCrashed and the agent lives on.",
    "C212": (
        "Addresses are a type of their own, so there are no agents registered under address-valued "
        "names."
    ),
    "C216": (
        "There is no process-status report; values hide their payload in repr, which is what Thespian "
        "logs."
    ),
}

EXCEPTIONS: dict[str, str] = {
    "C212": DIFFERENCES["C212"],
    "C250": "It promises nothing: there is no order between different recipients or different agents.",
}
