"""bench/data/fetch: what it downloads from a server of our own, and what it refuses."""
import functools
import gzip
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading

import pytest
from conftest import COMMAND, ROOT

FETCH = ROOT / "bench" / "data" / "fetch"
TEXT = b"1 1 1 1.5\n2 3 4 2\n2 1 4 -1\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; "short" ones end before they should."""

    def log_message(self, *_):
        pass

    def send_header(self, name, value):
        if name == "Content-Length" and "short" in self.path:
            value = str(int(value) + 5)
        super().send_header(name, value)


class Mirror:
    """A folder with data sets, served over HTTP, and the catalogue that tells of them."""

    def __init__(self, folder, address):
        self.folder, self.address = folder, address
        self.into = folder / "tensors"
        self.sets = {}

    def add(self, name, content, scheme="http", **about):
        path = self.folder / f"{name}.tns.gz"
        path.write_bytes(content)
        address = path.as_uri() if scheme == "file" else f"{self.address}/{path.name}"
        self.sets[name] = {"address": address, "dims": [2, 3, 4], "nnz": 3, **about}

    def fetch(self, *arguments):
        catalogue = self.folder / "catalogue.json"
        catalogue.write_text(json.dumps(self.sets))
        return subprocess.run(
            [sys.executable, FETCH, *arguments, "--catalogue", catalogue, "--into", self.into,
             "--polyad", COMMAND], capture_output=True, text=True, timeout=100,
            env={**os.environ, "no_proxy": "*"})

    def refuses(self, name, *says):
        """One line of error, and nothing new in the folder."""
        before = self.files()
        done = self.fetch(name)
        assert done.returncode == 1 and done.stderr.startswith("fetch: ")
        assert len(done.stderr.splitlines()) == 1
        assert all(text in done.stderr for text in says), done.stderr
        assert self.files() == before

    def files(self):
        found = self.into.iterdir() if self.into.exists() else ()
        return {path.name: path.read_bytes() for path in found}


@pytest.fixture
def mirror(tmp_path):
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Mirror(tmp_path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_fetch(mirror, scheme):
    packed = gzip.compress(TEXT)
    digest = hashlib.sha256(packed).hexdigest()
    mirror.add("tiny", packed, scheme, sha256=digest)
    done = mirror.fetch("tiny")
    assert done.returncode == 0, done.stderr
    assert set(mirror.files()) == {"tiny.ptn", "tiny.tns.gz.sha256"}
    assert mirror.files()["tiny.tns.gz.sha256"].decode() == digest + "\n"
    about = json.loads(subprocess.run([COMMAND, "info", mirror.into / "tiny.ptn", "--json", "-"],
                                      capture_output=True, check=True).stdout)
    assert about["dims"] == [2, 3, 4] and about["nnz"] == 3
    os.remove(mirror.folder / "tiny.tns.gz")  # nothing is asked for again
    assert "tiny.ptn is there" in mirror.fetch("tiny").stdout


def test_fetch_wrong_checksum(mirror):
    mirror.add("tiny", gzip.compress(TEXT), sha256="0" * 64)
    mirror.refuses("tiny", "SHA-256", f"expected {'0' * 64} (published)")


def test_fetch_another_checksum_than_before(mirror):
    mirror.add("tiny", gzip.compress(TEXT))
    assert mirror.fetch("tiny").returncode == 0
    (mirror.into / "tiny.ptn").unlink()
    mirror.add("tiny", gzip.compress(TEXT + b"\n"))
    mirror.refuses("tiny", "SHA-256", "tiny.tns.gz.sha256")


@pytest.mark.parametrize("content, about, says", [
    (gzip.compress(TEXT), {"nnz": 4}, "[2, 3, 4] and 3 entries found; expected [2, 3, 4] and 4"),
    (gzip.compress(TEXT), {"dims": [2, 3, 5]}, "expected [2, 3, 5] and 3"),
    (gzip.compress(TEXT)[:-9], {}, "error"), (gzip.compress(b"1 1 x 1\n"), {}, "error"),
    (b"<html>not here</html>", {}, "error")])
def test_fetch_wrong_content(mirror, content, about, says):
    mirror.add("tiny", content, **about)
    mirror.refuses("tiny", says)


def test_fetch_what_is_not_whole_or_not_there(mirror):
    mirror.add("short", gzip.compress(TEXT))
    mirror.refuses("short", "bytes found; expected")
    mirror.add("gone", b"")
    os.remove(mirror.folder / "gone.tns.gz")
    mirror.refuses("gone", "404")
    mirror.sets["gone"]["address"] = "http://127.0.0.1:9/gone.tns.gz"
    mirror.refuses("gone", "refused")


def test_fetch_names(mirror):
    mirror.add("tiny", b"")
    assert "2 x 3 x 4" in mirror.fetch("--list").stdout
    assert mirror.fetch("uber").returncode == 2 and not mirror.into.exists()
    done = subprocess.run([sys.executable, FETCH, "--list"], capture_output=True, text=True)
    assert "uber " in done.stdout and "nell-1" in done.stdout
