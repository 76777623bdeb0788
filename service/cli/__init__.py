"""The command line `powercontext-sidecar`: one module for each group of commands."""

from service.cli.program import main

__all__ = ["main"]
