"""The session cookie: a random code that only the server can read, bound to this host."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response

from gateway.settings import GatewaySettings

_LONGEST = 200


class SessionCookie:
    """HttpOnly, SameSite=Lax; over TLS also Secure, with the `__Host-` prefix that ties it to this very host."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.secure = settings.is_https
        self.name = "__Host-retinue_session" if self.secure else "retinue_session"
        self._max_age = int(settings.session_days * 86400)

    def read(self, headers: Headers) -> str | None:
        """The code that a request brings, if any."""
        for header in headers.getlist("cookie"):
            for pair in header.split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.name and 0 < len(value) <= _LONGEST:
                    return value
        return None

    def set(self, response: Response, code: str) -> None:
        self._put(response, code, self._max_age)

    def clear(self, response: Response) -> None:
        self._put(response, "", 0)

    def _put(self, response: Response, code: str, max_age: int) -> None:
        response.set_cookie(
            self.name, code, max_age=max_age, path="/", secure=self.secure, httponly=True, samesite="lax"
        )
