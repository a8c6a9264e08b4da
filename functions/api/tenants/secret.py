"""Makes signing secrets."""

import base64
import secrets

_SECRET_BYTES = 32


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"
