import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from postdate.runtime.documents import fetch_document


class Served(BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = {
            "/good": (200, b'{"keys": []}'),
            "/large": (200, b"x" * (256 * 1024 + 1)),
            "/moved": (302, b""),
        }.get(self.path, (404, b""))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/good")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url():
    with HTTPServer(("127.0.0.1", 0), Served) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_document_is_read(url):
    assert fetch_document(f"{url}/good") == b'{"keys": []}'


@pytest.mark.parametrize("path", ["/moved", "/missing", "/large"])
def test_no_other_address_no_refusal_and_no_flood_is_read(url, path):
    with pytest.raises(OSError, match=r"answered|too large"):
        fetch_document(f"{url}{path}")


@pytest.mark.parametrize("url", ["http://login.example/keys", "file:///etc/passwd", "ftp://127.0.0.1/x", ""])
def test_only_https_is_read_beyond_the_loopback_interface(url):
    with pytest.raises(OSError, match="is not read"):
        fetch_document(url)
