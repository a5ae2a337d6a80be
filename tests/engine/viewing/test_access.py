"""Who may look: holders of keys, browsers that logged in, bearers of links, and nobody else."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.viewing import access as module
from mage_es.engine.viewing.access import Access
from mage_es.engine.viewing.server import Viewer
from mage_es.events.errors import PrerequisiteError, UsageError
from tests.engine.viewing.conftest import opened
from tests.engine.viewing.test_server import seen, serving

ANNA = {"Authorization": "Bearer key-of-anna"}


def written(file: Path, *keys: tuple[str, str]) -> Path:
    """Write a file of keys (name and more lines); the key of anna is `key-of-anna`."""
    tables = (f'[[keys]]\nname = "{n}"\nsha256 = "{sha256(f"key-of-{n}".encode()).hexdigest()}"\n{m}' for n, m in keys)
    file.write_text("\n".join(tables))
    return file


class Team(NamedTuple):
    """A server of the runs `small` and `other` with a file of keys, of which one names a run and one may not look."""

    server: Viewer
    file: Path
    run: str
    told: list[str]

    def ask(
        self, path: str = "/", headers: Mapping[str, str] | None = None, *, method: str = "GET", body: str = ""
    ) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        connection.request(method, path, body=body or None, headers=dict(headers or {}))
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer, content

    def status(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        return self.ask(path, headers)[0].status

    def login(self, key: str, **headers: str) -> HTTPResponse:
        return self.ask("/login", headers, method="POST", body=f"key={key}")[0]

    def cookie(self, key: str) -> dict[str, str]:
        return {"Cookie": f"theme=dark; {self.login(key).headers['Set-Cookie'].partition(';')[0]}"}

    def listed(self, path: str = "/", headers: Mapping[str, str] | None = None) -> list[str]:
        answer, content = self.ask(f"{path}data/runs.js", headers)
        assert answer.status == 200, content
        return [row["run"] for row in opened(content.encode())[1]["runs"]]

    def link(self, run: str, seconds: int = 60) -> str:
        return f"/{self.server.access.link(run, seconds)[0]}/"


@pytest.fixture
def team(copied: Run, tmp_path: Path) -> Iterator[Team]:
    file = written(
        tmp_path / "keys.toml", ("anna", "views = true"), ("bob", f'views = true\nrun = "{copied.id}"'), ("app", "")
    )
    told = list[str]()
    runs = {copied.id: copied, "other": Run("other", copied.path)}
    with serving(Viewer(lambda: dict(runs), seen, access=Access(file, say=told.append))) as server:
        yield Team(server, file, copied.id, told)


def test_without_a_key_there_is_a_page_that_asks_for_one_and_nothing_else(team: Team) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": f"{module.COOKIE}=wrong"}, {"Cookie": ";;=="}):
        answer, page = team.ask("/", headers)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert '<input type="password" name="key"' in page and "script" not in page and "key-of" not in page
        assert answer.headers["Content-Security-Policy"].startswith(
            "default-src 'none'; script-src 'none'; style-src 'self';"
        )
        for path in ("/data/runs.js", "/data/words.js", f"/data/{team.run}/index.js", "/app.js", "/nothing"):
            answer, content = team.ask(path, headers)
            assert answer.status == 401 and "Bearer" in content, path
    assert team.status("/app.css") == 200, "how the page looks that asks"


@pytest.mark.parametrize(
    "header", ["Authorization: Bearer key-of-anna", "x-api-key: key-of-anna", "api-key: key-of-anna"]
)
def test_a_key_lets_in_by_each_header_that_serve_takes(team: Team, header: str) -> None:
    name, _, value = header.partition(": ")
    assert team.status("/", {name: value}) == 200
    assert team.listed(headers={name: value}) == [team.run, "other"]


def test_a_key_in_the_address_lets_nobody_in(team: Team) -> None:
    for path in ("/?key=key-of-anna", "/?key-of-anna", "/key-of-anna/", "/key-of-anna/data/runs.js"):
        assert team.status(path) in (401, 404), path


def test_a_key_that_may_not_look_is_told_so_whichever_way_it_comes(team: Team) -> None:
    answer, page = team.ask("/", {"Authorization": "Bearer key-of-app"})
    assert answer.status == 403 and "views = true" in page
    assert team.status("/data/runs.js", {"Authorization": "Bearer key-of-app"}) == 403
    answer = team.login("key-of-app")
    assert (answer.status, answer.headers["Set-Cookie"]) == (403, None)


def test_a_key_of_one_run_sees_that_run_and_no_sign_of_another(team: Team) -> None:
    bob = {"Authorization": "Bearer key-of-bob"}
    assert team.listed(headers=bob) == [team.run]
    assert team.status(f"/data/{team.run}/card.js", bob) == 200
    for part in ("index", "card", "events-0", "link"):
        assert team.status(f"/data/other/{part}.js", bob) == team.status(f"/data/nothing/{part}.js", bob) == 404


def test_a_browser_logs_in_once_and_keeps_something_else_than_the_key(team: Team) -> None:
    answer = team.login("key-of-anna")
    assert (answer.status, answer.headers["Location"]) == (303, "./")
    kept = answer.headers["Set-Cookie"]
    assert "HttpOnly; SameSite=Lax" in kept and "Secure" not in kept and "key-of" not in kept
    assert sha256(b"key-of-anna").hexdigest() not in kept
    assert team.listed(headers=team.cookie("key-of-anna")) == [team.run, "other"]
    assert "; Secure" in team.login("key-of-anna", **{"X-Forwarded-Proto": "https"}).headers["Set-Cookie"]
    runs = opened(team.ask("/data/runs.js", team.cookie("key-of-bob"))[1].encode())[1]
    assert runs == {"runs": [{"run": team.run}], "key": "bob"}


def test_a_wrong_key_logs_nobody_in(team: Team) -> None:
    for key in ("wrong", "", "key-of-ann", "%00", "%ff%fe"):
        answer = team.login(key)
        assert (answer.status, answer.headers["Set-Cookie"]) == (401, None), key
    for size in ("5000", "-1", "x", "9" * 9):
        assert team.ask("/login", {"Content-Length": size}, method="POST")[0].status == 400, size


def test_a_login_ends_when_it_is_logged_out_or_is_old(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, page = team.ask("/login", team.cookie("key-of-anna"))
    assert answer.status == 200 and 'name="key"' in page
    assert re.fullmatch(rf"{module.COOKIE}=; HttpOnly; SameSite=Lax; Max-Age=0", answer.headers["Set-Cookie"])
    monkeypatch.setattr(module, "LOGIN_S", -1)
    answer, page = team.ask("/", team.cookie("key-of-anna"))
    assert answer.status == 401 and "This login has ended" in page and 'name="key"' in page


def test_a_login_and_a_key_end_when_the_file_has_them_no_longer(team: Team) -> None:
    cookie = team.cookie("key-of-anna")
    assert team.status("/", cookie) == team.status("/", ANNA) == 200
    written(team.file, ("bob", "views = true"))
    assert team.status("/", cookie) == team.status("/", ANNA) == 401
    # Of the same name, but with another key.
    team.file.write_text(f'[[keys]]\nname = "anna"\nsha256 = "{"0" * 64}"\nviews = true')
    assert team.status("/", cookie) == 401


def test_a_file_of_keys_that_became_invalid_changes_nothing_and_is_reported(team: Team) -> None:
    team.file.write_text("[[keys]")
    assert team.status("/", ANNA) == 200 and team.status("/", ANNA) == 200
    assert len(team.told) == 1 and "the previous keys still apply" in team.told[0]
    team.file.unlink()
    assert team.status("/", ANNA) == 200 and team.status("/") == 401


def test_a_link_shows_its_run_alone_to_someone_without_a_key(team: Team) -> None:
    link = team.link(team.run)
    answer, page = team.ask(link)
    assert answer.status == 200 and "app.js" in page and team.listed(link) == [team.run]
    assert team.status(f"{link}data/{team.run}/card.js") == 200
    assert team.status(f"{link}data/other/card.js") == team.status(f"{link}data/other/index.js") == 404
    assert "key" not in opened(team.ask(f"{link}data/runs.js")[1].encode())[1], "its bearer is offered no link to share"
    assert team.status(f"{link}data/{team.run}/link.js") == 404, "nor can make one that lasts longer"


def test_an_expired_link_says_when_it_ended_and_asks_for_no_key(team: Team) -> None:
    link = team.link(team.run, -1)
    answer, page = team.ask(link)
    assert answer.status == 403 and re.search(r"This link expired on 20\d\d-\d\d-\d\d \d\d:\d\d UTC", page)
    assert "<form" not in page and team.status(f"{link}data/{team.run}/card.js") == 403
    assert team.status(f"{link}app.css") == 200


def test_a_link_with_any_other_letter_or_for_another_run_is_refused(team: Team) -> None:
    link = team.link(team.run).strip("/")
    text, _, mac = link.partition(".")
    for place in range(len(link)):
        other = "A" if link[place] != "A" else "B"
        altered = f"{link[:place]}{other}{link[place + 1 :]}"
        assert team.status(f"/{altered}/") == (403 if "." in altered else 404), place
    name, expires = json.loads(base64.urlsafe_b64decode(text + "=="))
    for forged in (["other", expires], ["", expires], [name, 0], [name, expires + 60]):
        made = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
        assert team.status(f"/{made}.{mac}/") == team.status(f"/{made}./data/runs.js") == 403
    assert team.status(f"/{link[:-1]}/") == team.status(f"/{link}A/") == 403
    page = team.ask(f"/{link}A/")[1]
    assert "not valid" in page and "<form" not in page


def test_a_login_is_no_link_and_a_link_no_login(team: Team) -> None:
    login = team.cookie("key-of-anna")["Cookie"].rpartition("=")[2]
    assert team.status(f"/{login}/") == 403
    link = team.link("").strip("/")
    assert team.status(f"/{link}/") == 200 and team.status("/", {"Cookie": f"{module.COOKIE}={link}"}) == 401


def test_the_page_of_a_key_gets_a_link_to_a_run_that_it_sees(team: Team) -> None:
    made: Any = opened(team.ask(f"/data/{team.run}/link.js", ANNA)[1].encode())[1]
    assert team.listed(f"/{made['link']}/") == [team.run]
    answer, _ = team.ask("/data/nothing/link.js", ANNA)
    assert answer.status == 404


def test_the_secret_is_for_its_owner_alone_outlives_the_server_and_another_one_ends_everything(
    team: Team, tmp_path: Path
) -> None:
    secret = tmp_path / "keys.toml.secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    link, cookie = team.link(team.run), team.cookie("key-of-anna")
    assert Access(team.file).admit(link.strip("/"), {}).runs == {team.run}, "as after a restart"
    secret.unlink()
    assert team.status(link) == 403 and team.status("/", cookie) == 401 and team.status("/", ANNA) == 200
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_secret_that_is_short_or_that_others_can_read_is_refused(team: Team, tmp_path: Path) -> None:
    secret, link = tmp_path / "keys.toml.secret", team.link(team.run)
    secret.chmod(0o644)
    with pytest.raises(PrerequisiteError, match="chmod 600"):
        Access(team.file)
    answer, page = team.ask(link)
    assert answer.status == 503 and str(tmp_path) not in page and "chmod 600" in team.told[-1]
    secret.chmod(0o600)
    for text, says in (("00" * 31, "too short"), ("", "too short"), ("secret", "cannot be used")):
        secret.write_text(text)
        with pytest.raises(PrerequisiteError, match=says):
            Access(team.file)


def test_other_machines_are_served_with_keys_only_and_keys_that_may_look(copied: Run, tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="Pass --keys FILE"):
            Viewer(lambda: {copied.id: copied}, seen, host=host)
    with pytest.raises(UsageError, match="Give one of them `views = true`"):
        Access(written(tmp_path / "keys.toml", ("app", "curates = true")))
    with pytest.raises(UsageError, match="cannot be read"):
        Access(tmp_path / "nothing.toml")


def test_with_keys_any_name_of_the_server_will_do_and_other_pages_may_lead_there_but_load_nothing(team: Team) -> None:
    assert team.status("/", {**ANNA, "Host": "runs.example.org"}) == 200
    cross = {**ANNA, "Sec-Fetch-Site": "cross-site"}
    link = team.link(team.run)
    for path in ("/", link):
        assert team.status(path, {**cross, "Sec-Fetch-Mode": "navigate"}) == 200
        assert team.status(path, {**cross, "Sec-Fetch-Mode": "no-cors"}) == 403
        assert team.status(f"{path}data/runs.js", {**cross, "Sec-Fetch-Mode": "navigate"}) == 403
    assert team.ask("/login", {"Sec-Fetch-Site": "cross-site"}, method="POST", body="key=key-of-anna")[0].status == 403


def test_no_key_changes_anything_here_not_even_one_that_curates(team: Team) -> None:
    written(team.file, ("boss", "views = true\ncurates = true"))
    boss, before = {"Authorization": "Bearer key-of-boss"}, team.listed(headers={"Authorization": "Bearer key-of-boss"})
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/data/runs.js", f"/data/{team.run}/memories-0.js", f"/v1/memories/{team.run}"):
            body = '{"action": "quarantine", "reason": "x"}' if method == "POST" else ""
            assert team.ask(path, boss, method=method, body=body)[0].status == 405
    assert team.listed(headers=boss) == before
