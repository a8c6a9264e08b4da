"""Dead letters that a function writes itself, as JSON."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from postdate.runtime.observability import logger

if TYPE_CHECKING:
    from botocore.client import BaseClient


class LetterSender:
    def __init__(self, *, url: str, client: "BaseClient") -> None:
        self._url = url
        self._client = client

    def send(self, letter: Mapping[str, object]) -> bool:
        """False if it could not be sent."""
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=json.dumps(letter))
        except (BotoCoreError, ClientError):
            logger.exception("a dead letter was not sent", extra={"action": "letter_not_sent"})
            return False
        return True
