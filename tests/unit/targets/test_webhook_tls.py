"""A name, pinned to the address that was checked: TLS still asks for the name and checks the certificate for it."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from postdate.targets.base import Delivered, Failed
from postdate.targets.guard import Endpoint

NAME = "hooks.example.com"
OK = Delivered(http_status=200)
NOT_VALID = Failed(reason="certificate not valid for the host", down=True)


def make_certificate(folder, name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return {name: make_certificate(folder, name) for name in (NAME, "other.example.com")}


@pytest.fixture
def secure(receiver, certificate):
    """A receiver over TLS with the certificate of `name`, and the names it was asked for."""

    def start(name=NAME, answer=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate[name])
        asked = []
        context.sni_callback = lambda sock, asked_for, context: asked.append(asked_for)
        default = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        return receiver(answer or default, tls=context), asked

    return start


@pytest.fixture
def target(webhook, certificate):
    """Trusts these certificates and finds NAME on loopback."""

    def make(port, addresses=("127.0.0.1",), trusted=(NAME, "other.example.com"), **limits):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for name in trusted:
            tls.load_verify_locations(certificate[name])

        def endpoint(url):
            return Endpoint(scheme="https", host=NAME, port=port, path="/", addresses=addresses)

        return webhook(tls=tls, endpoint=endpoint, **limits)

    return make


def test_the_name_is_asked_for_on_the_pinned_address(secure, target, deliver, delivery):
    there, asked = secure()
    connections = target(there.port)
    assert deliver.all(connections, delivery()) + deliver.all(connections, delivery()) == [OK, OK]
    assert asked == [NAME]
    assert there.headers()["Host"] == f"{NAME}:{there.port}"


def test_a_certificate_for_another_name_is_refused_and_nothing_is_sent(secure, target, deliver, delivery):
    there, asked = secure("other.example.com")
    assert deliver.all(target(there.port), delivery()) == [NOT_VALID]
    assert asked == [NAME]
    assert there.requests == []


def test_a_certificate_that_nobody_trusts_is_refused(secure, target, deliver, delivery):
    there, _ = secure()
    assert deliver.all(target(there.port, trusted=()), delivery()) == [NOT_VALID]
    assert there.requests == []


def test_a_server_without_tls_gets_nothing_in_the_clear(target, deliver, delivery):
    got = []

    def shout(server):
        sock, _ = server.accept()
        with sock:
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            got.append(sock.recv(4096))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=shout, args=(server,), daemon=True)
        thread.start()
        receipts = deliver.all(target(server.getsockname()[1]), delivery())
        thread.join(1)
    assert receipts == [Failed(reason="tls failed", down=True)]
    assert b"POST" not in got[0]


def test_a_handshake_that_stalls_is_a_connection_that_timed_out(target, deliver, delivery):
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = target(server.getsockname()[1], connect_seconds_max=0.05)
        assert deliver.all(connections, delivery()) == [Failed(reason="connect timed out", down=True)]


def test_a_dead_address_does_not_keep_the_next_one_from_being_tried(secure, target, deliver, delivery):
    there, _ = secure()
    assert deliver.all(target(there.port, addresses=("127.0.0.2", "127.0.0.1")), delivery()) == [OK]


def test_a_long_answer_over_tls_is_cut_at_16_kb_too(secure, target, deliver, delivery):
    there, _ = secure(answer=b"HTTP/1.1 200 OK\r\n" + b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000)
    assert deliver.all(target(there.port), delivery()) == [Failed(reason="the answer is too long", down=True)]
