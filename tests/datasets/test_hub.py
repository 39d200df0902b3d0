"""Publishing to the hub, against a server on this machine that speaks the part of its API that is needed."""

import base64
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from verdicts import verdict

from kgb_gym.datasets.recorder import Recorder
from kgb_gym.datasets.rows import episode_row, step_row

TOKEN = "hf_a_token_of_no_hub"
PUBLISH = """
import sys
from kgb_gym.datasets.publish import PublishError, publish
try:
    print(publish(sys.argv[1], "hf://someone/kernels", private=True))
except PublishError as error:
    sys.exit(f"PublishError: {error}")
"""


class Hub:
    """Keeps what is committed to it, by path."""

    def __init__(self):
        self.files, self.asked, self.created = {}, [], []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(
                    200,
                    [] if "/tree/" in self.path else {"id": "hf://someone/kernels", "siblings": [], "sha": "0" * 40},
                )

            do_HEAD = do_GET

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("authorization") != f"Bearer {TOKEN}":
                    self.answer(401, {"error": "Invalid credentials"})
                elif self.path == "/api/repos/create":
                    hub.created.append(json.loads(body))
                    self.answer(200, {"url": f"{hub.url}/datasets/someone/kernels", "id": "hf://someone/kernels"})
                elif "/preupload/" in self.path:
                    files = json.loads(body)["files"]
                    whole = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]
                    self.answer(200, {"files": whole})
                elif "/commit/" in self.path:
                    for line in map(json.loads, body.splitlines()):
                        if line["key"] == "file":
                            hub.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                    url = f"{hub.url}/datasets/someone/kernels/commit/{'1' * 40}"
                    self.answer(200, {"success": True, "commitUrl": url, "commitOid": "1" * 40})
                else:
                    self.answer(200, {})

            def answer(self, status, value):
                hub.asked.append((self.command, self.path, status))
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hub():
    running = Hub()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
def run(tmp_path):
    """A recorded run."""
    row = step_row(verdict("aten/softmax"), episode_id="e", step=0, code="x = 1")
    with Recorder.open(tmp_path / "run", config={"method": "gold"}) as recorder:
        recorder.step(row)
        recorder.episode(episode_row([row]))
    return tmp_path / "run"


def published(hub, run, tmp_path, token):
    environment = os.environ | {"HF_ENDPOINT": hub.url, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "hf")}
    environment |= {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, "-c", PUBLISH, str(run)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_run_arrives_whole(hub, run, tmp_path):
    done = published(hub, run, tmp_path, TOKEN)
    assert done.returncode == 0, (done.stderr, hub.asked)
    assert "to='hf://someone/kernels'" in done.stdout
    assert (hub.created[0]["name"], hub.created[0]["type"]) == ("kernels", "dataset")
    names = {p.relative_to(run).as_posix() for p in run.rglob("*.parquet")}
    assert names and set(hub.files) >= names | {"README.md", "run.json", "metrics.json"}
    for name in names:
        assert hub.files[name] == (run / name).read_bytes()
    assert TOKEN.encode() not in b"".join(hub.files.values())


def test_a_token_that_is_refused(hub, run, tmp_path):
    done = published(hub, run, tmp_path, "hf_wrong")
    assert done.returncode == 1
    assert "PublishError: the hub refused someone/kernels" in done.stderr
    assert not hub.files
