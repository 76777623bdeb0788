"""A host that was asked for is never left out quietly."""

import os

import pytest

from tests.hosts.programs import HOSTS, installer


@pytest.mark.hosts
def test_every_host_that_was_asked_for_is_installed_and_has_tests() -> None:
    """POWERCONTEXT_HOSTS names those of `make hosts-test`; without it at least one host must be there."""
    install = installer()
    installed = {name for name, host in install.HOSTS.items() if install.installed_program(host) is not None}
    tested = installed & {host.name for host in HOSTS}
    asked = set(os.environ.get("POWERCONTEXT_HOSTS", "").split())
    assert asked - tested == set()
    assert tested != set()
