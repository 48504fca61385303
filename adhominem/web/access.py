"""Who may ask: by the name of the server, the site that asks, and the token."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from adhominem.errors import OptionError
from adhominem.web.failures import RequestError

LINES = "application/x-ndjson"  # what the page's script accepts
_PAGE = "text/html"  # what a browser accepts
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")
_FOR_PROGRAMS = "Bearer"
_FOR_BROWSERS = 'Basic realm="AdHominem", charset="UTF-8"'  # they ask their user for a password


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may ask. All of it is decided by the headers, before a body is read."""

    token: str = ""  # empty: anybody who can reach the server
    hosts: frozenset[str] = frozenset()  # names that a browser may know it by; empty: any

    @classmethod
    def of(cls, host: str, token: str = "", names: Sequence[str] = ()) -> Access:
        """The rules of a server that listens on `host`; `names` are further names of it.

        On loopback, only pages of this machine may ask: any page in the user's browser could send
        requests here under a name of its own, which it has made to lead to this machine.
        """
        if token != token.strip() or not token.isprintable():
            raise OptionError(
                "the token begins or ends with a space, or holds what is no character; no request "
                "could send it: choose another"
            )
        chosen = {name.lower() for name in names}
        if is_loopback(host):
            chosen |= {host.lower(), *_LOOPBACK_NAMES}
        return cls(token=token, hosts=frozenset(chosen))

    def check(self, headers: Headers, method: str, path: str) -> None:
        """Refuse whom the headers do not let in; pages without texts in them are for everybody."""
        self.check_host(headers, method)
        if path.startswith("/api/") or method not in ("GET", "HEAD"):
            self.check_token(headers)

    def check_host(self, headers: Headers, method: str) -> None:
        """Refuse a name that is not ours, and what other sites send here; links may lead here."""
        name = _host_name(headers.get("host", ""))
        if self.hosts and name not in self.hosts:
            raise RequestError(
                403,
                "WrongHost",
                "the server is not known by this name; start it with --allow-host NAME, if it is",
            )
        sent_by, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if sent_by is not None:
            foreign = sent_by not in ("same-origin", "none") and not _opens(headers, method)
        else:  # of plain HTTP, browsers tell only the origin
            foreign = origin is not None and _host_name(origin.partition("://")[2]) != name
        if foreign:
            raise RequestError(403, "OtherSite", "pages of other sites may not ask this server")

    def check_token(self, headers: Headers) -> None:
        """Refuse a wrong token, in the same time however much of it is right."""
        if not self.token or compare_digest(token_of(headers).encode(), self.token.encode()):
            return
        # The script has a field for the token; without it, the browser asks for a password.
        accepted = headers.get("accept", "")
        message = (
            "the server wants a token: send it as 'Authorization: Bearer TOKEN', or as the "
            "password of Basic authentication, with any name"
        )
        if LINES in accepted:
            message = "this is not the token of this server; whoever runs it can tell you the token"
        elif _PAGE in accepted:
            message = (
                "the server wants a token, which whoever runs it can tell you; go back, send the "
                "form again, and enter the token as the password, with any name"
            )
        challenge = _FOR_BROWSERS if _PAGE in accepted else _FOR_PROGRAMS
        raise RequestError(401, "WrongToken", message, {"WWW-Authenticate": challenge})


def token_of(headers: Headers) -> str:
    """The token of a request: a bearer's, or the password that a browser asked for."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    sent = given.strip().encode("latin-1")  # the bytes as they came
    if scheme.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except binascii.Error:
            return ""
    elif scheme.lower() != "bearer":
        return ""
    return sent.decode("utf-8", "replace")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _opens(headers: Headers, method: str) -> bool:
    """Whether a browser only opens a page: whoever linked to it does not see the answer."""
    by = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return method == "GET" and by == ("navigate", "document")


def _host_name(host: str) -> str:
    """A host without its port; "" if it is not a name and port alone, as browsers send it."""
    if not _HOST.fullmatch(host):
        return ""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
