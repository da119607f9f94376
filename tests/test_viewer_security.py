"""Who is let in, and what the pages allow."""

import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection

import pytest

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from pathlib import Path

from starlette.testclient import TestClient

from heedful import UsageError
from heedful.cli import main
from heedful.core.net import listen
from heedful.pages.viewer.app import Keys, make_app
from heedful.pages.viewer.state import Viewer
from viewing import HOST, client, keys_of, make_run


@pytest.fixture
def keys() -> Keys:
    return Keys(["127.0.0.1", "localhost"], 9)


@pytest.fixture
def stranger(tmp_path: Path, keys: Keys) -> TestClient:
    viewer = Viewer(tmp_path, tmp_path / "indexes")
    return TestClient(make_app(viewer, keys), base_url=f"http://{HOST}")


def test_without_the_token_nothing_is_shown(stranger: TestClient, keys: Keys) -> None:
    for path in ("/", "/assets/theme.css", "/own/viewer.js", "/run/a", "/?token=guess", "/?token="):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert keys.token not in answer.text
    stranger.cookies.set(keys.cookie, "guess")
    assert stranger.get("/").status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(
    stranger: TestClient, keys: Keys
) -> None:
    answer = stranger.get(f"/x?a=%22%3E&token={keys.token}")
    assert "url=/x?a=%22%3E" in answer.text
    assert keys.token not in answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.get("/").status_code == 200
    assert "no-store" in stranger.get("/").headers["cache-control"]


@pytest.mark.parametrize(
    "host", ["evil.example:9", "127.0.0.1", "127.0.0.1:10", "localhost.evil:9"]
)
def test_other_names_of_this_machine_are_refused(
    stranger: TestClient, keys: Keys, host: str
) -> None:
    stranger.cookies.set(keys.cookie, keys.token)
    assert stranger.get("/", headers={"host": host}).status_code == 421
    assert stranger.get(f"/?token={keys.token}", headers={"host": host}).status_code == 421
    assert stranger.get("/", headers={"host": "localhost:9"}).status_code == 200


def test_pages_allow_no_script_but_their_own(stranger: TestClient, keys: Keys) -> None:
    stranger.cookies.set(keys.cookie, keys.token)
    answer = stranger.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    scripts = re.findall(r"<script[^>]*>", answer.text)
    assert scripts
    assert all("src=" in script for script in scripts)
    assert not re.search(r"\son\w+=|style=", answer.text)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:10"])
def test_only_our_own_pages_write(tmp_path: Path, origin: str | None) -> None:
    make_run(tmp_path / "runs" / "small", 6)
    browser = client(tmp_path / "runs")
    address = f"{keys_of(browser)['small']}/audit"
    headers = {} if origin is None else {"origin": origin}
    answer = browser.post(address, headers=headers, data={"samples": "3", "seed": "1"})
    assert answer.status_code == 403
    assert not (tmp_path / "runs" / "small" / "audit.csv").exists()
    assert browser.get(address).status_code == 405


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1"])
def test_a_server_says_its_address_and_ends_when_told(tmp_path: Path, host: str) -> None:
    try:
        listen(host, 0).close()
    except UsageError:
        pytest.skip(f"this machine has no {host}")
    make_run(tmp_path / "runs" / "small", 6)
    command = [sys.executable, "-m", "heedful", "view", str(tmp_path / "runs"), "--host", host]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            said = "".join(process.stdout.readline() for _ in range(3))
            result = re.search(r"http://(\S+:\d+)/\?token=(\S+)", said)
            assert result is not None
            with closing(HTTPConnection(result[1], timeout=20)) as connection:
                for path, status in (
                    ("/?token=wrong", 403),
                    (f"/?token={result[2]}", 200),
                    (f"//elsewhere.example/?token={result[2]}", 200),
                ):
                    connection.request("GET", path)
                    answer = connection.getresponse()
                    text = answer.read()
                    assert answer.status == status
                assert b"url=/elsewhere.example/" in text
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_wrong_use_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["view", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    assert "nowhere" in capsys.readouterr().err
    for options in (["--host", "192.0.2.1"], ["--port", "99999"]):
        with pytest.raises(SystemExit) as stopped:
            main(["view", str(tmp_path), *options])
        assert stopped.value.code == 2
        assert "cannot listen at" in capsys.readouterr().err
