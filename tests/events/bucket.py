"""A bucket to test with: a server on this machine that speaks the S3 protocol."""

import logging
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from typing import Any

import pytest

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@contextmanager
def bucket() -> Iterator[str]:
    """Give the address of an empty bucket, with the environment set to reach it, while its server runs."""
    from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = _one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        _request("POST", f"{endpoint}/moto-api/reset")
        _request("PUT", f"{endpoint}/runs")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", endpoint)
            patch.setenv("AWS_ALLOW_HTTP", "true")
            patch.setenv("AWS_REGION", "us-east-1")
            patch.setenv("AWS_ACCESS_KEY_ID", "test")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            yield "s3://runs"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _one_at_a_time(application: Application) -> Application:
    """Let requests wait for one another: a bucket decides at once whether there is an object, which moto does not."""
    alone = Lock()

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with alone:
            return list(application(environ, start_response))

    return serve


def _request(method: str, url: str) -> None:
    urllib.request.urlopen(urllib.request.Request(url, method=method)).close()
