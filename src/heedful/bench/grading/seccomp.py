"""A filter that refuses system calls a program has no need of, as Linux's BPF.

It closes what namespaces and limits leave open: memory that no process shows (files in memory,
System V segments), tracing, the kernel's key store, and the large and young interfaces that faults
are found in.
"""

from __future__ import annotations

import errno
import platform
import struct

_ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    # The audit number of the architecture, and the numbers of the calls that are refused.
    "x86_64": (
        0xC000003E,
        {
            "shmget": 29,
            "msgget": 68,
            "ptrace": 101,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "memfd_create": 319,
            "bpf": 321,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "ptrace": 117,
            "msgget": 186,
            "shmget": 194,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "memfd_create": 279,
            "bpf": 280,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
"""Offsets of a call's number and architecture in the filter's input."""

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_KILL = 0x80000000
_X32 = 0x40000000
"""Calls of x86's third ABI have this bit, and would pass by other numbers."""


def filter_program() -> bytes | None:
    """Return the filter for this machine; ``None`` where it is of another architecture."""
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        return None
    architecture, calls = known
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for number in sorted(calls.values()):
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
