"""Which Host and which Origin a request may have.

The Host check keeps a foreign name that resolves to this machine from being used as if it were ours (DNS rebinding).
The Origin check keeps a foreign page from acting with a person's cookie; a bearer token needs none, since no browser
attaches one by itself.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from gateway.answers import forbidden
from gateway.settings import GatewaySettings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})
_PORTS = {"http": 80, "https": 443}


def host_is_ours(host_header: str, settings: GatewaySettings) -> bool:
    """Whether the Host header names this deployment: loopback, the public URL's host, or one of the allow list."""
    host = _hostname(host_header)
    if host is None:
        return False
    if host in settings.host_names or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_cors_origin(origin: str, settings: GatewaySettings) -> bool:
    """Whether pages of this origin may call the API, with a bearer token."""
    return bool(origin) and origin.lower() in {allowed.lower().rstrip("/") for allowed in settings.cors_origins}


def is_own_origin(origin: str, headers: Headers, settings: GatewaySettings) -> bool:
    """Whether a page of this origin is our own page."""
    parsed = _origin(origin)
    if parsed is None:
        return False
    if settings.public_origin and parsed == _origin(settings.public_origin):
        return True
    host = headers.get("host", "")
    # Behind a proxy that ends TLS we see http; a name of the allow list may then be ours under https.
    schemes = ("http", "https") if _hostname(host) in settings.host_names else ("http",)
    return any(parsed == _origin(f"{scheme}://{host}") for scheme in schemes)


def check_origin(method: str, headers: Headers, settings: GatewaySettings, *, with_cookie: bool) -> None:
    """Refuse an unsafe request that a foreign page may have made. `with_cookie`: a session cookie would be used.

    Without Origin and Sec-Fetch-Site the caller is no browser of today; it may sign in, and is refused with a cookie.
    """
    if method in SAFE_METHODS:
        return
    origin = headers.get("origin")
    if origin is not None:
        if not is_own_origin(origin, headers, settings):
            raise forbidden("Requests from other sites need a bearer token.", "foreign_origin")
        return
    site = headers.get("sec-fetch-site")
    if site is None and with_cookie:
        message = "A request with a session cookie needs an Origin header of this site, or use a bearer token instead."
        raise forbidden(message, "origin_missing")
    if site is not None and site not in _OWN_SITES:
        raise forbidden("Requests from other sites need a bearer token.", "foreign_origin")


def _hostname(host_header: str) -> str | None:
    try:
        parts = urlsplit(f"//{host_header}")
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return None
    if not host_header or "@" in host_header or parts.path or parts.query or parts.fragment:
        return None
    return (parts.hostname or "").rstrip(".") or None


def _origin(origin: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(origin.lower())
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or port is None or parts.path.strip("/"):
        return None
    return parts.scheme, parts.hostname, port
