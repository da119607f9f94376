"""Listening at an address, and whether only this machine reaches it."""

from __future__ import annotations

import ipaddress
import socket

from heedful.core.errors import UsageError

BACKLOG = 2048
"""Connections that wait to be accepted: a burst of a trainer's workers comes at once."""

PORTS = range(2**16)


def is_loopback(host: str | None) -> bool:
    """Say whether only this machine is reached under a host's name or address."""
    if not host:
        return False
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Listen at an address, so that clients can connect at once; others may listen there too."""
    if port not in PORTS:
        raise _refusal(host, port, f"ports go from 0 to {PORTS[-1]}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both, reuse_port=shared
        )
    except OSError as error:
        # Python says the address once more, as a tuple.
        reason = str(error.strerror).partition(" (while ")[0]
        raise _refusal(host, port, reason) from error


def _refusal(host: str, port: int, reason: str) -> UsageError:
    return UsageError(
        f"cannot listen at {host}, port {port}: {reason}",
        hint="name another --port, or 0 for a free one; --host is an address of this machine",
    )
