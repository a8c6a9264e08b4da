"""The document of parameters in AWS AppConfig, asked for by the copy of a function that uses it."""

from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable

# AppConfig refuses a session that asks more often than this.
_POLL_SECONDS: Final = 15
_NOTHING_DEPLOYED: Final = "ResourceNotFoundException"


class AppConfig:
    def __init__(self, path: str, *, client: Any) -> None:
        """`path` is `<application>/<environment>/<profile>`, by ids."""
        self._application, self._environment, self._profile = path.split("/")
        self._client = client
        self._token = ""

    def changed(self) -> bytes | None:
        """The document, if it is another one than at the last question of this copy; None if it is the same, or if
        none was ever deployed. Raises Unavailable.

        A token is good for one question. After a failure the next question begins a new session, which is told the
        document in any case.
        """
        # The token is given up before the call: a call that fails has used it up.
        token, self._token = self._token, ""
        try:
            if not token:
                token = self._client.start_configuration_session(
                    ApplicationIdentifier=self._application,
                    EnvironmentIdentifier=self._environment,
                    ConfigurationProfileIdentifier=self._profile,
                    RequiredMinimumPollIntervalInSeconds=_POLL_SECONDS,
                )["InitialConfigurationToken"]
            answer = self._client.get_latest_configuration(ConfigurationToken=token)
            content: bytes = answer["Configuration"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == _NOTHING_DEPLOYED:
                return None
            raise Unavailable(error.response["Error"]["Code"]) from error
        except BotoCoreError as error:
            raise Unavailable(type(error).__name__) from error
        self._token = answer["NextPollConfigurationToken"]
        return content or None
