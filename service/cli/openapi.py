"""`openapi`: the contract as a document."""

import sys
from pathlib import Path

import click

from service.http.openapi import document


@click.command()
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of to stdout."
)
def openapi(output: Path | None) -> None:
    """Print the OpenAPI document of the HTTP API as YAML. Needs neither a database nor a server.

    \b
    Example:
      powercontext-sidecar openapi --output openapi.yaml
    """
    if output is None:
        sys.stdout.buffer.write(document().yaml())
    else:
        output.write_bytes(document().yaml())
