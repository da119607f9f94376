"""A filter that refuses system calls a program has no need of, as Linux's BPF.

It closes what namespaces and limits leave open: memory that no process shows (files in memory,
System V segments, message queues), tracing, the kernel's key store, sockets other than local and IP
ones, and the large and young interfaces that faults are found in.
"""

from __future__ import annotations

import errno
import platform
import struct

_REFUSED: dict[str, tuple[int, int]] = {
    # The numbers of the calls that are refused, on x86-64 and on ARM.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
}
_SOCKETS: dict[str, tuple[int, int]] = {"socket": (41, 198), "socketpair": (53, 199)}
"""Calls whose first argument is the family of a socket."""

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2}
"""Families of sockets that are allowed: others lead out of the network's namespace (AF_VSOCK), or
to interfaces of the kernel (netlink, packets, algorithms) that programs don't need."""

_ARCHITECTURES: dict[str, tuple[int, int]] = {
    # The audit number of the architecture, and its place in the tables above.
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
"""Offsets in the filter's input: a call's number, architecture, and first argument, whose
lower half comes first on both."""

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
    architecture, place = known
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for numbers in _REFUSED.values():
        program += [(_EQUAL, 0, 1, numbers[place]), (_RETURN, 0, 0, _REFUSE)]
    # The kernel reads the family as an int, so the upper half of the argument does not count.
    check = [(_LOAD, 0, 0, _FIRST)]
    for family in FAMILIES.values():
        check += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    check.append((_RETURN, 0, 0, _REFUSE))
    for numbers in _SOCKETS.values():
        program += [(_EQUAL, 0, len(check), numbers[place]), *check]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
