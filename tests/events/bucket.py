"""A bucket to test with: a server on this machine that speaks the S3 protocol."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def bucket() -> Iterator[str]:
    """Give the address of an empty bucket, with the environment set to reach it, while its server runs."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
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
        server.stop()


def _request(method: str, url: str) -> None:
    urllib.request.urlopen(urllib.request.Request(url, method=method)).close()
