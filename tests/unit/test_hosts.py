"""While access is disabled, only names of this machine are served: a page that rebinds its own name is not."""

import pytest

from contracts.errors import MalformedRequest
from service.http.hosts import refuse_foreign_host


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:8000", "127.8.8.8", "[::1]", "[::1]:8000", "my-box:80"],
)
def test_names_of_this_machine_are_served(host: str) -> None:
    refuse_foreign_host([(b"host", host.encode())], "my-box")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[", "é"],
)
def test_other_names_are_refused_without_repeating_them(host: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        refuse_foreign_host([(b"host", host.encode())], "127.0.0.1")
    assert "evil" not in refused.value.message


def test_a_host_that_is_missing_or_given_twice_is_refused() -> None:
    for headers in ([], [(b"host", b"localhost"), (b"host", b"evil.example")]):
        with pytest.raises(MalformedRequest):
            refuse_foreign_host(headers, "127.0.0.1")
