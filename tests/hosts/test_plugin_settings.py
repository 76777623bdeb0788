"""What every plugin reads from its environment: the same values are taken and refused everywhere."""

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.plugin_params import JAVASCRIPT_PROGRAMS, PROGRAMS
from tests.hosts.plugin_programs import PluginProgram

SECRET = "pct_secret"
CONTENT = "验 content"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}
SECONDS = ("REQUEST_TIMEOUT_S", "TOTAL_TIMEOUT_S")
NO_TIMES = ("0", "-1", "Infinity", "inf", "nan", "1e400", "86400.1", "3e6", "0x10", "1_0", "soon", "٣")
NO_SIZES = ("Infinity", "8000.5", "8e3", "-600", "+600", "0x258", "6_00", "many", "٦٠٠")
NO_ADDRESSES = (
    "http://user:{}@{}",
    "http://{}@{}",
    "http://{1}/?token={0}",
    "http://{1}/#{0}",
    "ftp://{1}/{0}",
    "{1}/{0}",
    "http://{1}/{0} x",
    "http://127.0.0.1:port{0}",
)


def assert_refused(program: PluginProgram, settings: dict[str, str], variable: str) -> None:
    """Nothing is asked, and one line names the variable alone."""
    outcome = program.ask("q", settings)
    assert outcome.content is None
    assert f"POWERCONTEXT_{variable}" in outcome.said
    assert outcome.said.strip().count("\n") == 0
    assert SECRET not in outcome.said


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_number_that_cannot_be_used_is_refused(program: PluginProgram) -> None:
    values = [(name, value) for name in SECONDS for value in NO_TIMES] + [("MAX_BYTES", value) for value in NO_SIZES]
    with running(FakeService(body=READY)) as service:
        for name, value in values:
            assert_refused(program, {"SCOPE_ID": "s", "BASE_URL": service.url, name: value}, name)
            assert service.received == [], (name, value)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_longest_times_are_taken(program: PluginProgram) -> None:
    times = {"REQUEST_TIMEOUT_S": "86400", "TOTAL_TIMEOUT_S": "8.64e4"}
    with running(FakeService(body=READY)) as service:
        outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url, "MAX_BYTES": "0600", **times})
        assert outcome.content == CONTENT
        assert service.last.json()["max_bytes"] == 600


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_address_that_cannot_be_used_is_refused_without_its_secret(program: PluginProgram) -> None:
    with running(FakeService(body=READY)) as service:
        place = service.url.removeprefix("http://")
        for address in NO_ADDRESSES:
            assert_refused(program, {"SCOPE_ID": "s", "BASE_URL": address.format(SECRET, place)}, "BASE_URL")
            assert service.received == [], address


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_setting_of_the_host_is_named_where_it_is_the_one_that_is_wrong(program: PluginProgram) -> None:
    settings = {"SCOPE_ID": "s", "MAX_BYTES": "600", f"{program.setting}_MAX_BYTES": "many"}
    assert_refused(program, settings, f"{program.setting}_MAX_BYTES")


@pytest.mark.parametrize("program", JAVASCRIPT_PROGRAMS)
def test_a_socket_path_that_would_be_cut_off_is_refused(program: PluginProgram) -> None:
    assert_refused(program, {"SCOPE_ID": "s", "UNIX_SOCKET": f"/{'x' * 107}"}, "UNIX_SOCKET")
