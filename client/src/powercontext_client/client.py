"""The two clients. Each is one transport and the same list of operations; see `operations` for what they do.

The environment (proxies, .netrc) is not read and redirects are not followed: a token must reach the named address only.
"""

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import httpcore
import httpx

from powercontext_client import operations
from powercontext_client.call import Answer, Call
from powercontext_client.connection import DEFAULT_BASE_URL, DEFAULT_TIMEOUT_S, Connection, request_headers
from powercontext_client.deadline import DeadlineTransport, seconds_left, within
from powercontext_client.errors import ContextClientError, RequestTimeout, TransportError
from powercontext_client.loops import PerLoopTransport

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(build: Callable[P, Call[T]]) -> "Callable[Concatenate[ContextClient, P], T]":
    @functools.wraps(build)
    def operation(self: "ContextClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    _show_as_method(operation, build)
    return operation


def _awaited(build: Callable[P, Call[T]]) -> "Callable[Concatenate[AsyncContextClient, P], Coroutine[Any, Any, T]]":
    @functools.wraps(build)
    async def operation(self: "AsyncContextClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    _show_as_method(operation, build)
    return operation


def _show_as_method(operation: Any, build: Callable[..., Call[Any]]) -> None:
    """Let `help` and `inspect` see `self` and the answer; after `wraps` they see what builds the Call."""
    signature = inspect.signature(build)
    (answer,) = get_args(signature.return_annotation)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    operation.__signature__ = signature.replace(
        parameters=[itself, *signature.parameters.values()], return_annotation=answer
    )
    operation.__annotations__ = {**build.__annotations__, "return": answer}


@contextlib.contextmanager
def _named_failures(timeout_s: float) -> Iterator[None]:
    """Raise whatever a transport raises as one of our own errors; no transport says which errors those are."""
    try:
        yield
    except ContextClientError:
        raise
    except (TimeoutError, httpx.TimeoutException, httpcore.TimeoutException) as late:
        raise RequestTimeout(f"No whole answer within {timeout_s} seconds.") from late
    except Exception as broken:
        raise TransportError(f"No answer: {type(broken).__name__}.") from broken


class ContextClient:
    """A blocking client; its connections are reused, and it may be shared by threads. Close it, or use `with`.

    base_url, unix_socket, token, timeout_s: see Connection. Resolving a host name is outside timeout_s.
    transport: takes the place of the network, for tests and for services in the same process.
    Every method raises a ContextClientError when the call fails.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        unix_socket: str | None = None,
        token: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(base_url, unix_socket, token, timeout_s)
        self._http = httpx.Client(
            base_url=base_url,
            headers=self._connection.headers(),
            transport=transport or DeadlineTransport(unix_socket),
            trust_env=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    def __enter__(self) -> "ContextClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Carry out a call.

        Raises RequestTimeout when no whole answer came in time, TransportError when none came, and what
        `Answer` raises.
        """
        timeout_s = self._connection.timeout_s if call.timeout_s is None else call.timeout_s
        with (
            _named_failures(timeout_s),
            within(timeout_s),
            self._http.stream(
                call.method,
                call.target,
                content=call.body,
                headers=request_headers(call.body),
                timeout=timeout_s,
            ) as response,
        ):
            answer = Answer(call, response.status_code, response.headers)
            for part in response.iter_bytes():
                answer.add(part)
                seconds_left()
        return answer.result()

    prepare_context = _blocking(operations.prepare_context)
    get_capabilities = _blocking(operations.get_capabilities)
    create_scope = _blocking(operations.create_scope)
    get_scope = _blocking(operations.get_scope)
    list_scopes = _blocking(operations.list_scopes)
    replace_scope = _blocking(operations.replace_scope)
    remember = _blocking(operations.remember)
    search_memory = _blocking(operations.search_memory)
    list_memory_entries = _blocking(operations.list_memory_entries)
    get_memory_entry = _blocking(operations.get_memory_entry)
    revise_memory_entry = _blocking(operations.revise_memory_entry)
    retire_memory_entry = _blocking(operations.retire_memory_entry)
    get_memory_changes = _blocking(operations.get_memory_changes)
    propose_experience = _blocking(operations.propose_experience)
    search_experience = _blocking(operations.search_experience)
    get_experience = _blocking(operations.get_experience)
    list_candidates = _blocking(operations.list_candidates)
    get_candidate = _blocking(operations.get_candidate)
    approve_candidate = _blocking(operations.approve_candidate)
    reject_candidate = _blocking(operations.reject_candidate)
    revise_candidate = _blocking(operations.revise_candidate)
    propose_profile = _blocking(operations.propose_profile)
    search_topic_memory = _blocking(operations.search_topic_memory)
    get_topic_memory = _blocking(operations.get_topic_memory)
    get_artifact = _blocking(operations.get_artifact)
    get_artifact_revision = _blocking(operations.get_artifact_revision)
    list_artifact_revisions = _blocking(operations.list_artifact_revisions)


class AsyncContextClient:
    """The same client for asyncio: every operation is a coroutine. Close it, or use `async with`.

    It may be used in several event loops, also at once; closing it closes the connections of the loop that closes it.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        unix_socket: str | None = None,
        token: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection(base_url, unix_socket, token, timeout_s)
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=self._connection.headers(),
            transport=transport or PerLoopTransport(unix_socket),
            trust_env=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    async def __aenter__(self) -> "AsyncContextClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Carry out a call; raises as ContextClient.send does."""
        timeout_s = self._connection.timeout_s if call.timeout_s is None else call.timeout_s
        with _named_failures(timeout_s):
            async with (
                asyncio.timeout(timeout_s),
                self._http.stream(
                    call.method,
                    call.target,
                    content=call.body,
                    headers=request_headers(call.body),
                    timeout=timeout_s,
                ) as response,
            ):
                answer = Answer(call, response.status_code, response.headers)
                async for part in response.aiter_bytes():
                    answer.add(part)
        return answer.result()

    prepare_context = _awaited(operations.prepare_context)
    get_capabilities = _awaited(operations.get_capabilities)
    create_scope = _awaited(operations.create_scope)
    get_scope = _awaited(operations.get_scope)
    list_scopes = _awaited(operations.list_scopes)
    replace_scope = _awaited(operations.replace_scope)
    remember = _awaited(operations.remember)
    search_memory = _awaited(operations.search_memory)
    list_memory_entries = _awaited(operations.list_memory_entries)
    get_memory_entry = _awaited(operations.get_memory_entry)
    revise_memory_entry = _awaited(operations.revise_memory_entry)
    retire_memory_entry = _awaited(operations.retire_memory_entry)
    get_memory_changes = _awaited(operations.get_memory_changes)
    propose_experience = _awaited(operations.propose_experience)
    search_experience = _awaited(operations.search_experience)
    get_experience = _awaited(operations.get_experience)
    list_candidates = _awaited(operations.list_candidates)
    get_candidate = _awaited(operations.get_candidate)
    approve_candidate = _awaited(operations.approve_candidate)
    reject_candidate = _awaited(operations.reject_candidate)
    revise_candidate = _awaited(operations.revise_candidate)
    propose_profile = _awaited(operations.propose_profile)
    search_topic_memory = _awaited(operations.search_topic_memory)
    get_topic_memory = _awaited(operations.get_topic_memory)
    get_artifact = _awaited(operations.get_artifact)
    get_artifact_revision = _awaited(operations.get_artifact_revision)
    list_artifact_revisions = _awaited(operations.list_artifact_revisions)
