"""A security key of the kernel's user-space HID driver: for all others it is plugged in as long as this object lives.

Source: Documentation/hid/uhid.rst and include/uapi/linux/uhid.h of the kernel.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

NAME = "a security key"
CREATE2 = 11
BUS_USB = 3
# CTAP 2.1, section 11.2.8.1: the usage page of FIDO, with reports of 64 bytes in and out.
FIDO = bytes.fromhex("06d0f1 0901 a101 0920 1500 26ff00 7508 9540 8102 0921 1500 26ff00 7508 9540 9102 c0")


class SecurityKey:
    def __init__(self) -> None:
        self.descriptor = os.open("/dev/uhid", os.O_RDWR | os.O_CLOEXEC)
        names = struct.pack("128s64s64s", NAME.encode(), b"", b"")
        numbers = struct.pack("=HHIIII", len(FIDO), BUS_USB, 0x1050, 0x0402, 0, 0)
        os.write(self.descriptor, struct.pack("=I", CREATE2) + names + numbers + FIDO.ljust(4096, b"\0"))

    def is_plugged_in(self) -> bool:
        names = [path.read_text() for path in Path("/sys/class/hidraw").glob("*/device/uevent")]
        return any(f"HID_NAME={NAME}\n" in text for text in names)

    def pull_out(self) -> None:
        os.close(self.descriptor)
