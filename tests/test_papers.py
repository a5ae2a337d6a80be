"""The documents are true: their Python runs, their commands exist with the flags they show, their scripts are there."""

import json
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from threading import Event
from types import SimpleNamespace
from typing import Any, NamedTuple, get_args

import httpx2
import pytest
import yaml

from mage_es.cli import main
from mage_es.engine.run.served import Serving
from mage_es.engine.seams.plugins import Group
from mage_es.engine.served.tenants import read_keys
from mage_es.engine.serving.serve import serve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ProposalSettled
from mage_es.projections.fold import State
from tests.cli.leaves import parsed
from tests.engine.serving.upstream import upstream

ROOT = Path(__file__).resolve().parent.parent
PRODUCTION = "cli/PRODUCTION.md"
PAPERS = (
    *("README.md", "CONTRIBUTING.md", "events/README.md", "projections/README.md", "engine/README.md"),
    *(
        "cli/README.md",
        "cli/TUTORIAL.md",
        PRODUCTION,
        "docs/questions.md",
        "docs/opentelemetry.md",
        "tests/README.md",
        "tests/bench/FIGURES.md",
    ),
)
QUICK = {("verify",), ("replay",), ("export",), ("memory", "list"), ("runs", "list"), ("runs", "show"), ("log",)}
"""Commands that are run as well, where they name no other run than the newest and no other moment than the last."""


class Block(NamedTuple):
    """A fenced block: its paper and line, the language in its fence, and what it says."""

    place: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for paper in PAPERS:
        if (ROOT / paper).is_file():
            text = (ROOT / paper).read_text(encoding="utf-8")
            for found in re.finditer(r"^```([\w-]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
                place = f"{paper}:{text[: found.start()].count(chr(10)) + 1}"
                yield Block(place, found[1], found[2])


PYTHON = [block for block in blocks() if block.language == "python" and not block.place.startswith(PRODUCTION)]


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield each `mage-es` command of a block, with its place and its words."""
    for block in blocks():
        if block.language != "python":
            for line in block.text.replace("\\\n", " ").splitlines():
                for part in re.split(r" (?:&&|\|) |; ", line.removeprefix("$ ")):
                    if part.startswith("mage-es ") and "..." not in part:
                        yield block.place, shlex.split(part.partition(" <")[0], comments=True)[1:]


async def my_client(prompt: str, **how: float) -> SimpleNamespace:
    """Answer as a client of the reader's own does, who is shown how to plug it in."""
    return SimpleNamespace(text="I cannot say.\nAnswer: 7", input_tokens=len(prompt) // 4, output_tokens=8)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one small finished run, `runs/first`; only copy it."""
    folder = tmp_path_factory.mktemp("papers")
    small = ("--iterations", "2", "--pool", "20", "--held-out", "20", "--anchors", "10")
    with pytest.raises(SystemExit) as exited:
        main(["evolve", "wordmath", *small, "--run-id", "first", "--runs-dir", str(folder / "runs")])
    assert not exited.value.code
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_every_paper_is_there() -> None:
    assert not [paper for paper in PAPERS if not (ROOT / paper).is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.place)
def test_a_block_of_python_runs_and_the_tests_in_it_pass(block: Block, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "paper", "my_client": my_client}
    exec(compile(block.text, block.place, "exec"), names)
    for test in [each for name, each in names.items() if name.startswith("test_")]:
        test()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_page_on_production_works_from_top_to_bottom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "a-key-of-the-client")
    page, stop, address = [each for each in blocks() if each.place.startswith(PRODUCTION)], Event(), Queue[str]()
    told = {"begun": lambda report: address.put(report.address), "stop": stop.is_set}
    with upstream() as server, ThreadPoolExecutor(1) as pool:
        settings = Serving(upstream=server.url, port=0, learn="propose", holdback=0.0, retrieval_timeout=30_000.0)
        served = pool.submit(serve, "first", settings, **told)
        try:
            there = address.get(timeout=60)
            for block in page:
                text = block.text.replace("http://localhost:8321", there).replace("http://localhost:8000", server.url)
                text = text.replace('open_run("support", at="iter-9")', 'open_run("first")')
                if block.language in ("python", "py"):
                    code = compile(text, block.place, "exec")
                if block.language == "python":
                    exec(code, {"__name__": "paper"})
                for command in re.findall(r"^curl .*\n(?:    .*\n)*", text, re.MULTILINE):
                    done = subprocess.run(["bash", "-c", command.replace("curl", "curl -f", 1)], capture_output=True)
                    assert done.returncode == 0 and done.stdout, f"{block.place}: {command}{done.stderr.decode()}"
        finally:
            stop.set()
        assert served.result().runs[0].run_id == "first-served"
    assert {"/v1/chat/completions", "/v1/messages"} <= {asked.target for asked in server.asked}
    for words in (("publish", "first-served", "--yes"), ("gain", "first-served"), ("verify", "first-served")):
        with pytest.raises(SystemExit) as exited:
            main([*words])
        assert not exited.value.code
    assert len(list(LogReader(Path("runs/first-served/log")).of(ProposalSettled))) == 1


def test_what_the_page_on_production_configures_fits_what_reads_it(tmp_path: Path) -> None:
    page = {block.language: block.text for block in blocks() if block.place.startswith(PRODUCTION)}
    for server in json.loads(page["json"])["mcpServers"].values():
        assert server["command"] == "mage-es" and parsed(server["args"])
    [compose] = yaml.safe_load_all(production("services:"))
    mage, vllm = compose["services"]["mage"], compose["services"]["vllm"]
    _, given = parsed(mage["command"][1:])
    assert mage["command"][0] == "mage-es" and given["serve_upstream"] == "http://vllm:8000"
    [(outside, inside)] = [port.split(":") for port in mage["ports"]]
    assert (inside, given["serve_host"]) == (str(Serving().port), "0.0.0.0") and outside
    mounted = {volume.split(":")[1] for service in (mage, vllm) for volume in service["volumes"]}
    assert {str(given["serve_keys"]), str(given["runs_dir"])} <= mounted
    assert set(mage["depends_on"]) == {"vllm"} and vllm["healthcheck"]["test"][0] == "CMD"
    assert {volume.split(":")[0] for volume in vllm["volumes"]} == set(compose["volumes"])
    (tmp_path / "keys.toml").write_text(page["toml"])
    assert [key.name for key in read_keys(tmp_path / "keys.toml").keys] == ["helpdesk", "sales", "anna"]


def production(beginning: str) -> str:
    """Return the block of the page on production that begins so."""
    [found] = [each.text for each in blocks() if each.place.startswith(PRODUCTION) and each.text.startswith(beginning)]
    return found


def test_the_kubernetes_objects_run_one_writer_that_is_probed_and_has_what_it_mounts() -> None:
    objects = {each["kind"]: each for each in yaml.safe_load_all(production("apiVersion:"))}
    deployment, pod = objects["Deployment"]["spec"], objects["Deployment"]["spec"]["template"]["spec"]
    assert (deployment["replicas"], deployment["strategy"]["type"]) == (1, "Recreate")
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    assert objects["Service"]["spec"]["selector"] == deployment["selector"]["matchLabels"]
    [container] = pod["containers"]
    _, given = parsed(container["args"][1:])
    ports = {each["containerPort"] for each in container["ports"]} | {objects["Service"]["spec"]["ports"][0]["port"]}
    probes = {name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert ports == {Serving().port} == {probe["port"] for probe in probes.values()}
    assert [probe["path"] for probe in probes.values()] == ["/healthz", "/readyz"]
    mounted = {each["mountPath"] for each in container["volumeMounts"]}
    assert {str(given["runs_dir"]), str(Path(given["serve_keys"]).parent)} == mounted
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert (
        pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == objects["PersistentVolumeClaim"]["metadata"]["name"]
    )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = production("[Unit]")
    [command] = re.findall(r"^ExecStart=(.*)$", unit, flags=re.MULTILINE)
    assert parsed(shlex.split(command)[1:])
    program = command.split()[0]
    (tmp_path / "mage-es.service").write_text(unit.replace(program, sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "mage-es.service"], capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "mage-es" in line]) == (0, [])


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx is not installed")
def test_nginx_brings_tls_and_passes_a_stream_on_piece_by_piece(tmp_path: Path) -> None:
    subject = ["-subj", "/CN=mage.example.com", "-days", "2"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        *subject,
        "-keyout",
        "mage.key",
        "-out",
        "mage.pem",
    ]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with upstream() as behind:
        server = production("server {").replace("listen 443", f"listen 127.0.0.1:{port}")
        server = server.replace("/etc/ssl/", f"{tmp_path}/").replace("http://127.0.0.1:8321", behind.url)
        places = " ".join(f"{name}_temp_path {tmp_path}/{name};" for name in TEMPORARY)
        about = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}"
        (tmp_path / "nginx.conf").write_text(f"{about} http {{ access_log off; {places}\n{server}\n}}")
        nginx = subprocess.Popen(["nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"])
        try:
            context = ssl.create_default_context(cafile=tmp_path / "mage.pem")
            context.check_hostname = False
            asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "What is 3 + 4?"}]}
            path, held = f"https://127.0.0.1:{port}/v1/chat/completions", {"x-do": "wait"}
            with httpx2.Client(verify=context, timeout=30) as client:
                until(lambda: socket.create_connection(("127.0.0.1", port)).close())
                with client.stream("POST", path, json=asked, headers=held) as reply:
                    pieces = reply.iter_raw()
                    first = next(pieces)  # the upstream says the rest only when it may
                    behind.go_on.set()
                    assert b"data:" in first and b"[DONE]" in b"".join(pieces)
        finally:
            nginx.terminate()
            nginx.wait(30)


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def until(act: Callable[[], object], patience_s: float = 30.0) -> None:
    """Do something again until no OSError comes of it."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            act()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def test_every_command_that_is_shown_exists_with_its_flags() -> None:
    shown = list(command_lines())
    assert len(shown) > 20
    for place, words in shown:
        try:
            parsed(words)
        except Exception as error:
            pytest.fail(f"{place}: mage-es {shlex.join(words)}: {type(error).__name__}: {error}")


@pytest.mark.slow
def test_every_command_that_needs_only_a_finished_run_is_done(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = 0
    for place, words in command_lines():
        named, given = parsed(words)
        moment, run = given.get("until"), given.get("run")
        if named in QUICK and moment is None and run is None and not given.get("head"):
            with pytest.raises(SystemExit) as exited:
                main(words)
            assert not exited.value.code, f"{place}: mage-es {shlex.join(words)}\n{capfd.readouterr().err}"
            done += 1
    assert done >= 3


def test_every_script_module_and_file_that_is_named_exists() -> None:
    named: list[tuple[str, str, Callable[[str], Path]]] = [
        ("module", r"python -m (tests[\w.]*)", lambda name: ROOT / name.replace(".", "/")),
        ("script", r"python ((?:tests|engine|events)/[\w/]+\.py)", lambda name: ROOT / name),
    ]
    papers = {(ROOT / paper).resolve() for paper in PAPERS}
    for paper in PAPERS:
        text = (ROOT / paper).read_text(encoding="utf-8") if (ROOT / paper).is_file() else ""
        for what, pattern, path_of in named:
            for name in re.findall(pattern, text):
                path = path_of(name.rstrip("."))
                assert path.exists() or path.with_suffix(".py").exists(), f"{paper}: no {what} {name}"
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", text):
            path = (ROOT / paper).parent.joinpath(link).resolve()
            assert path.exists() or path in papers, f"{paper}: a link to {link}, which does not exist"


def test_every_file_in_the_table_of_a_folder_is_there() -> None:
    seen = 0
    for paper in ROOT.glob("engine/*/README.md"):
        for cell in re.findall(r"^\| (`[^|]*)\|", paper.read_text(encoding="utf-8"), re.MULTILINE):
            for name in re.findall(r"`([\w/]+\.py)`", cell):
                assert (paper.parent / name).is_file(), f"{paper.relative_to(ROOT)}: no file {name}"
                seen += 1
    assert seen > 100


def test_the_tables_of_projections_and_of_entry_points_leave_none_out() -> None:
    projections = (ROOT / "projections" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", projections, re.MULTILINE)) >= set(State.__annotations__)
    wings = (ROOT / "engine" / "README.md").read_text(encoding="utf-8").partition("## Floors")[0]
    groups = {group.rpartition(".")[2] for group in get_args(Group)}
    assert set(re.findall(r"`(?:mage_es)?\.(\w+)`", wings)) == groups


def test_the_test_command_that_ci_takes_from_the_readme_is_there_and_the_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [pattern] = re.findall(r'grep -m1 -E "([^"]+)" README\.md', ci)
    assert re.search(pattern, readme, re.MULTILINE)
    assert "\npython -m pip install . && mage-es demo\n" in readme
    assert len(readme.splitlines()) <= 250
