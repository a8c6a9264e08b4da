"""A real issuer of tokens: Cognito of the local engine, another process, which signs with its own keys."""

import json
from dataclasses import dataclass
from typing import Any

PASSWORD = "Sesame-opens-7"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """A pool of people, and the client for which they sign in."""

    cognito: Any
    id: str
    client_id: str
    url: str

    def setting(self, **fields: str) -> str:
        return json.dumps(
            {
                "issuer": f"https://cognito-idp.us-east-1.amazonaws.com/{self.id}",
                "audience": self.client_id,
                "jwks_url": f"{self.url}/{self.id}/.well-known/jwks.json",
                "tenant_claim": "custom:tenant",
                "scopes_claim": "cognito:groups",
                **fields,
            }
        )

    def signed_in(self, name: str, tenant: str | None, *groups: str, token: str = "IdToken") -> str:
        """The token of a new person."""
        attributes = [] if tenant is None else [{"Name": "custom:tenant", "Value": tenant}]
        given = {"UserPoolId": self.id, "Username": name}
        self.cognito.admin_create_user(**given, UserAttributes=attributes, MessageAction="SUPPRESS")
        self.cognito.admin_set_user_password(**given, Password=PASSWORD, Permanent=True)
        for group in groups:
            self.cognito.admin_add_user_to_group(**given, GroupName=group)
        answer = self.cognito.initiate_auth(
            ClientId=self.client_id,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": name, "PASSWORD": PASSWORD},
        )
        found: str = answer["AuthenticationResult"][token]
        return found


def made(cognito: Any, *, seconds: int = 3600) -> Pool:
    """A pool whose ID tokens live for so many seconds."""
    custom = [{"Name": "tenant", "AttributeDataType": "String", "Mutable": False}]
    pool = cognito.create_user_pool(PoolName="people", Schema=custom)["UserPool"]["Id"]
    flows = ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]
    validity = {"IdTokenValidity": seconds, "TokenValidityUnits": {"IdToken": "seconds"}}
    client = cognito.create_user_pool_client(
        UserPoolId=pool, ClientName="console", ExplicitAuthFlows=flows, **validity
    )
    for group in ("ops", "tasks:read", "tasks:write", "keys:write", "internal"):
        cognito.create_group(UserPoolId=pool, GroupName=group)
    return Pool(
        cognito=cognito,
        id=pool,
        client_id=client["UserPoolClient"]["ClientId"],
        url=cognito.meta.endpoint_url,
    )
