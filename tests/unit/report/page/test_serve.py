import http.client
import shutil
import threading

import pytest

from facetmt.errors import UserError
from facetmt.report.page.serve import LOOPBACK, LivePage, make_server


@pytest.fixture
def run_copy(tmp_path, bandit_dir):
    return shutil.copytree(bandit_dir, tmp_path / "run")


@pytest.fixture
def server(run_copy):
    server = make_server([run_copy], 0, patience=0.0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ask(server, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection(*server.server_address, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def grow(run):
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 1501, "seconds": 9999.0, "loss": 1.0}\n')


def test_the_page_and_nothing_else_on_loopback_only(server):
    assert server.server_address[0] == LOOPBACK
    status, headers, body = ask(server)
    assert status == 200 and b"facetmt" in body and headers["Content-Type"].startswith("text/html")
    outside = ("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..\\recipe.yaml", "/./", "*")
    for path in (*outside, "/recipe.yaml", "/?x", "/favicon.ico", "http://evil.example/"):
        assert ask(server, path)[0] == 404
    assert ask(server, method="POST")[0] == 501


def test_a_name_that_was_rebound_to_this_machine_gets_nothing(server):
    for name in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "[::1]"):
        assert ask(server, Host=name)[0] == 404
    assert ask(server, Host=f"localhost:{server.server_address[1]}")[0] == 200


def test_unchanged_logs_are_neither_rendered_nor_sent_again(server, run_copy):
    _, first, body = ask(server)
    assert first["ETag"].encode() in body.replace(b'\\"', b'"')  # the page knows its own version
    status, again, empty = ask(server, **{"If-None-Match": first["ETag"]})
    assert status == 304 and empty == b"" and again["ETag"] == first["ETag"]
    grow(run_copy)
    status, later, _ = ask(server, **{"If-None-Match": first["ETag"]})
    assert status == 200 and later["ETag"] != first["ETag"]


def test_many_askers_cost_one_rendering(run_copy):
    page = LivePage([run_copy], patience=3600)
    for _ in range(5):
        page.get()
        grow(run_copy)
    assert page.renderings == 1


def test_a_damaged_log_is_said_in_the_browser(server, run_copy):
    (run_copy / "metrics.jsonl").write_text("{]\n", encoding="utf-8")
    status, _, body = ask(server)
    assert status == 503 and b"metrics.jsonl, line 1: damaged" in body


def test_users_errors(tmp_path, run_copy, server):
    with pytest.raises(UserError, match="not a run directory"):
        make_server([tmp_path], 0)
    with pytest.raises(UserError, match="choose another with --port"):
        make_server([run_copy], server.server_address[1])
    with pytest.raises(UserError, match="choose another with --port"):
        make_server([run_copy], 1 << 20)
