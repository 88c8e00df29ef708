"""The system bases agents run on, and which rules of the contract a base excludes, with the reason.

A test with the marker `bases` is run on every base that excludes none of the rules it names: on ours in every
run, on the others by "tox -e matrix".
"""

from __future__ import annotations

OWN, STOCK, SIMPLE = "genAgentTCPBase", "multiprocTCPBase", "simpleSystemBase"

_WITHOUT_PROCESSES: dict[str, str] = {
    "a call is answered, or never: there is nothing to wait for meanwhile": (
        "C023 C107 C129 C153 C195 C205 C209 C213 C214"
    ),
    "nothing runs beside a turn that could end it: watchdogs are not enforced": "C072 C138 C182 C183 C184",
    "a turn runs to its end inside the dispatching call: there is no moment at which it can be interrupted": (
        "C061 C062 C063 C097 C119 C120 C121 C132 C169 C179 C245"
    ),
    "there is one process: nothing of an agent can be killed, and nobody dies alone": (
        "C007 C012 C014 C015 C047 C049 C073 C077 C098 C099 C100 C104 C108 C114 C115 C137 C203 C236"
    ),
    "nothing can be asked for while a turn runs: the process that would open its gate would wait at it": (
        "C053 C065 C066 C067 C080 C081 C083 C085 C087 C088 C089 C109 C118 C147 C154 C202 C240 C241 C242"
    ),
}

BASES: dict[str, dict[str, str]] = {
    OWN: {},
    STOCK: {},
    SIMPLE: {rule: reason for reason, rules in _WITHOUT_PROCESSES.items() for rule in rules.split()},
}
"""Each base, with the rules it excludes and why."""
