"""Logs and metrics. Neither ever holds an id, a query, a text or a token."""

import logging
import sys
from functools import cache
from typing import Any

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

METRICS_TYPE = "text/plain; version=0.0.4"  # Litestar adds the charset


class Metrics:
    """What the service counts, in a registry of its own so that two apps in one process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        requests = Counter(
            "powercontext_requests_total", "Requests answered.", ["operation", "status"], registry=self.registry
        )
        durations = Histogram(
            "powercontext_request_seconds",
            "Time from the request's head to the end of the answer.",
            ["operation"],
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            registry=self.registry,
        )
        # Looking labels up costs more than counting.
        self._counter = cache(lambda operation, status: requests.labels(operation, str(status)))
        self._duration = cache(durations.labels)
        self._inference_failures = Counter(
            "powercontext_inference_failures_total",
            "Requests that an inference provider did not serve; query and write went on without.",
            ["use", "code"],
            registry=self.registry,
        )
        self.under_way = Gauge("powercontext_requests_under_way", "Requests being served.", registry=self.registry)

    def inference_failed(self, use: str, code: str) -> None:
        """Count one request that a provider did not serve, or was spared after one it did not serve."""
        self._inference_failures.labels(use, code).inc()

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._counter(operation, status).inc()
        self._duration(operation).observe(seconds)

    def exposition(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self.registry)


def configure_logging(level: str) -> None:
    """JSON lines on stderr, one an event: ours, and what uvicorn warns of."""
    common: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    render = structlog.processors.JSONRenderer(serializer=_to_json)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=common, processor=render))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    structlog.configure(
        processors=[*common, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def _to_json(event: Any, **_: Any) -> str:
    """JSON for one event; what JSON cannot say is written as its repr, and line ends are escaped as JSON does."""
    return msgspec.json.encode(event, enc_hook=repr).decode(errors="replace")
