"""What the worker's process does for itself: results as text, and confinement by the kernel."""

import subprocess
import sys

import msgspec
import pytest

from mage_es.engine.sandbox import worker
from mage_es.engine.sandbox.limits import ToolLimits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (7, "7"),
        (7.0, "7"),
        (0.1 * 3, "0.3"),
        (-2.5, "-2.5"),
        (1e300, "1e+300"),
        (True, "true"),
        ([1, None, {"a": "é"}], '[1, null, {"a": "é"}]'),
    ],
)
def test_a_result_is_written_without_fractions_that_are_none(value: object, text: str) -> None:
    assert worker.to_text(value) == text


@pytest.mark.parametrize("value", [None, float("inf"), float("nan"), {1, 2}])
def test_a_result_that_cannot_be_written_down_is_a_fault(value: object) -> None:
    with pytest.raises(worker.ToolFault):
        worker.to_text(value)


CONFINED = """
import json, os, socket, sys
from mage_es.engine.sandbox import worker
reading, writing = os.pipe()
child = os.fork()
if child:
    os.close(writing)
    os.waitpid(child, 0)
    print(os.read(reading, 1000).decode())
else:
    if sys.argv[2] == "macOS":
        whole = worker.resource.setrlimit
        def refusing(kind, most):
            if kind == worker.resource.RLIMIT_AS:
                raise ValueError("current limit exceeds maximum limit")
            whole(kind, most)
        worker.resource.setrlimit = refusing
    worker._confine(writing, json.loads(sys.argv[1]), 2**40)
    tried = []
    fork = lambda: os.fork() or os._exit(0)
    for act in (lambda: open("/etc/hostname"), socket.socket, fork, lambda: os.dup(1), lambda: os.fstat(reading)):
        try:
            act()
            tried.append("done")
        except OSError:
            tried.append("refused")
    os.write(1, " ".join(tried).encode())
    os._exit(0)
"""


@pytest.mark.parametrize("system", ["Linux", "macOS"])
def test_a_confined_process_can_open_nothing_and_has_nothing_open_but_its_pipe(system: str) -> None:
    command = [sys.executable, "-c", CONFINED, msgspec.json.encode(ToolLimits()).decode(), system]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout.split()
    file, network, process, descriptor, inherited = said
    assert [file, network, descriptor, inherited] == ["refused"] * 4
    assert process in ("refused", "done")  # the kernel does not count the processes of a superuser
