"""`gen-agent doctor`: what a crash left, and whether gen_agent can work here.

Law: it removes nothing unless told to, and never anything of a living system. The status is 0 if all is well.
"""

from __future__ import annotations

import json
import sys

import click

from gen_agent.cli.checkup import check_up
from gen_agent.cli.endings import FAILED, told
from gen_agent.cli.values import printable


@click.command()
@click.option("--clean", is_flag=True, help="Kill and remove what is left over.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Only what belongs to systems on this port.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor(clean: bool, port: int | None, as_json: bool) -> None:
    """Look for leftovers of crashed systems of yours, and check what gen_agent needs.

    Left over is what belongs to a system whose guardian was killed, or whose guardian outlived its owner. The
    exit status is 1 if there is any, or if something keeps gen_agent from working, else 0.
    """
    with told():
        checkup = check_up(port, clean=clean)
        if as_json:
            click.echo(json.dumps(checkup.value()))
        else:
            for line in checkup.lines():
                click.echo(printable(line))
    if not checkup.well:
        sys.exit(FAILED)
