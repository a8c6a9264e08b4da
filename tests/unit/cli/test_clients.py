import socket

import pytest

from cli.clients import clients
from cli.failure import NotReady
from infra.environments import ENVIRONMENTS


@pytest.fixture
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_command_without_a_local_stack_tells_how_to_start_one(free_port):
    told = pytest.raises(NotReady, match=f"port {free_port}. Start one: make up")
    with told, clients(ENVIRONMENTS["local"], free_port) as client:
        client("sqs").list_queues()
