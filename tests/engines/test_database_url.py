"""Database URLs: what they may hold, and that no refusal quotes one."""

import builtins
import sys
from typing import Any

import pytest

from adapters.sql.address import DatabaseUrlError, ServerAddress, parse_address
from adapters.storage import open_storage
from contracts.errors import RuntimeNotReady


def parsed(url: str) -> ServerAddress:
    return parse_address(url, default_port=2881, options=("charset",))


def test_a_user_may_name_its_tenant_and_cluster() -> None:
    address = parsed("oceanbase://app@tenant#cluster:secret@db.example.com:2883/context?charset=utf8mb4")
    assert (address.user, address.password) == ("app@tenant#cluster", "secret")
    assert (address.host, address.port, address.database) == ("db.example.com", 2883, "context")
    assert address.options == {"charset": "utf8mb4"}


def test_percent_encoded_parts_are_decoded_after_splitting() -> None:
    address = parsed("oceanbase://a%40t:p%40ss%2Fw%3Aor%3Fd%25@host/d%20b")
    assert (address.user, address.password, address.database) == ("a@t", "p@ss/w:or?d%", "d b")


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("oceanbase://u@h/d", "h", 2881),
        ("oceanbase://u:p@[::1]:3306/d", "::1", 3306),
        ("oceanbase://u:p@[::1]/d", "::1", 2881),
        ("oceanbase://u:p@1.2.3.4:65535/d", "1.2.3.4", 65535),
    ],
)
def test_hosts_and_ports(url: str, host: str, port: int) -> None:
    address = parsed(url)
    assert (address.host, address.port) == (host, port)


def test_a_folder_with_a_socket_is_named_by_a_parameter() -> None:
    url = "postgresql://u@/d?host=/run/postgresql&sslmode=disable"
    address = parse_address(url, default_port=5432, options=("host", "sslmode"))
    assert (address.host, address.port, address.database) == ("/run/postgresql", 5432, "d")
    assert address.options == {"sslmode": "disable"}


def test_an_address_does_not_show_who_logs_in_or_how() -> None:
    shown = repr(parsed("oceanbase://someone:hunter2@h/d"))
    assert "hunter2" not in shown
    assert "someone" not in shown


@pytest.mark.parametrize(
    "url",
    [
        "hunter2://user:hunter2@h/d",
        "hunter2",
        "",
        "postgresql://h/d",
        "postgresql://user:hunter2@h",
        "postgresql://user:hunter2@h/",
        "postgresql://user:hunter2@h/d/hunter2",
        "postgresql://user:hunter2@h:port/d",
        "postgresql://user:hunter2@h:0/d",
        "postgresql://user:hunter2@h:65536/d",
        "postgresql://user:hunter2@[::1/d",
        "postgresql://user:hunter2@h/d?sslmode=hunter2",
        "postgresql://user:hunter2@h/d?sslmode",
        "postgresql://user:hunter2@h/d?sslmode=require&sslmode=require",
        "postgresql://user:hunter2?hunter2=x@h/d",
        "postgresql://user:%ff%fehunter2@h/d",
        "postgresql://user:%00hunter2@h/d",
        "postgresql://user:hunter2@/d",
        "oceanbase://user@tenant:hunter2@:2881/d",
        "oceanbase://user@tenant:hunter2@h/d?charset=latin1",
        "oceanbase://user@tenant:hunter2@h/d?read_timeout=1",
        "mysql+aoceanbase://h:2881/d",
        "sqlite://hunter2.db",
        "sqlite:///",
    ],
)
async def test_a_refusal_never_quotes_the_url(url: str) -> None:
    with pytest.raises(DatabaseUrlError) as refused:
        await open_storage(url)
    assert "hunter2" not in str(refused.value)


async def test_an_unknown_parameter_is_refused_by_its_name() -> None:
    with pytest.raises(DatabaseUrlError, match=r"parameter pool_size .* takes: charset"):
        await open_storage("oceanbase://u@t:p@h/d?pool_size=9")
    with pytest.raises(DatabaseUrlError, match=r"parameter charset .* takes: host, sslmode, sslrootcert"):
        await open_storage("postgresql://u:p@h/d?charset=utf8mb4")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg", "oceanbase", "mysql+aoceanbase"])
async def test_a_server_that_is_not_there_is_not_ready(scheme: str) -> None:
    with pytest.raises(RuntimeNotReady) as refused:
        await open_storage(f"{scheme}://user:hunter2@127.0.0.1:1/d")
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("scheme", "driver", "extra"), [("postgresql", "asyncpg", "postgres"), ("oceanbase", "pymysql", "oceanbase")]
)
async def test_a_missing_driver_says_which_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, scheme: str, driver: str, extra: str
) -> None:
    for name in [
        name for name in sys.modules if name.partition(".")[0] == driver or name.startswith(f"adapters.{extra}")
    ]:
        monkeypatch.delitem(sys.modules, name)
    real_import = builtins.__import__

    def without_driver(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == driver:
            raise ModuleNotFoundError(f"No module named {driver!r}", name=driver)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_driver)
    with pytest.raises(DatabaseUrlError, match=rf"pip install 'powercontext-sidecar\[{extra}\]'"):
        await open_storage(f"{scheme}://user:hunter2@127.0.0.1:1/d")
