#!/usr/bin/env python3
"""A FIDO2 security key in software: CTAP 2 over CTAPHID reports on a Unix socket, with hmac-secret and a PIN.

It lives in a folder: the socket is `key`, its state is in `state.json`, a line for each request is in `log`. It behaves
as `ways.json` says, which tests may change at any time. It ends when its standard input does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any, Callable

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives import hashes

PING, INIT, CBOR, CANCEL, ERROR, KEEPALIVE = 0x81, 0x86, 0x90, 0x91, 0xBF, 0xBB
BROADCAST = 0xFFFFFFFF
MAX_TRIES, TRIES_PER_POWER = 8, 3


class Failed(Exception):
    """A CTAP2 error."""

    INVALID_COMMAND, MISSING_PARAMETER, EXCLUDED = 0x01, 0x14, 0x19
    UNSUPPORTED_ALGORITHM, DENIED, UNSUPPORTED_OPTION, CANCELLED, NO_CREDENTIALS = 0x26, 0x27, 0x2B, 0x2D, 0x2E
    TOUCH_TIMEOUT, PIN_INVALID, PIN_BLOCKED, PIN_AUTH_INVALID, PIN_AUTH_BLOCKED = 0x2F, 0x31, 0x32, 0x33, 0x34
    PIN_NOT_SET, PIN_REQUIRED, PIN_POLICY = 0x35, 0x36, 0x37

    def __init__(self, code: int) -> None:
        super().__init__(hex(code))
        self.code = code


# CBOR, RFC 8949: what CTAP2 uses of it, in its canonical form.

def head(major: int, value: int) -> bytes:
    if value < 24:
        return bytes([major << 5 | value])
    size = next(size for size in (1, 2, 4, 8) if value < 256**size)
    return bytes([major << 5 | 23 + size.bit_length()]) + value.to_bytes(size, "big")


def encode(item: Any) -> bytes:
    if item is True or item is False:
        return b"\xf5" if item else b"\xf4"
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, -1 - item)
    if isinstance(item, bytes):
        return head(2, len(item)) + item
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(encode, item))
    pairs = sorted(((encode(key), encode(value)) for key, value in item.items()), key=lambda pair: (len(pair[0]), pair))
    return head(5, len(pairs)) + b"".join(key + value for key, value in pairs)


def decode(raw: bytes) -> tuple[Any, bytes]:
    major, value, raw = raw[0] >> 5, raw[0] & 31, raw[1:]
    if major == 7:
        return value == 21, raw
    if value >= 24:
        size = 1 << value - 24
        value, raw = int.from_bytes(raw[:size], "big"), raw[size:]
    if major <= 1:
        return (value if major == 0 else -1 - value), raw
    if major <= 3:
        return (raw[:value] if major == 2 else raw[:value].decode()), raw[value:]
    items = []
    for _ in range(value * (major - 3)):
        item, raw = decode(raw)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), raw


def tag(key: bytes, *parts: bytes) -> bytes:
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def aes(key: bytes, text: bytes, decrypt: bool = False) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16)))
    run = cipher.decryptor() if decrypt else cipher.encryptor()
    return run.update(text) + run.finalize()


def cose(key: ec.EllipticCurvePublicKey, algorithm: int) -> dict[int, Any]:
    point = key.public_numbers()
    return {1: 2, 3: algorithm, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}


class Authenticator:
    """What the key does, without its wires. CTAP 2.1, section 6."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.one_at_a_time = threading.Lock()
        self.wait_for_touch: Callable[[], None] = lambda: None
        self.agreement = ec.generate_private_key(ec.SECP256R1())
        self.token = os.urandom(32)
        self.tries_now = TRIES_PER_POWER
        path = folder / "state.json"
        if path.exists():
            self.state = json.loads(path.read_text())
        else:
            self.state = {"master": os.urandom(32).hex(), "pin": None, "tries": MAX_TRIES}
            self.save()

    def save(self) -> None:
        (self.folder / "state.json").write_text(json.dumps(self.state))

    def log(self, *words: str) -> None:
        with open(self.folder / "log", "a") as file:
            print(*words, file=file)

    @property
    def ways(self) -> dict[str, Any]:
        path = self.folder / "ways.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def master(self) -> bytes:
        return bytes.fromhex(self.state["master"])

    def run(self, command: int, raw: bytes) -> bytes:
        parameters = decode(raw)[0] if raw else {}
        calls = {1: self.make, 2: self.get_assertion, 4: lambda _: self.info(), 6: self.client_pin}
        try:
            if command not in calls:
                raise Failed(Failed.INVALID_COMMAND)
            answer = calls[command](parameters)
            return b"\0" + (encode(answer) if answer is not None else b"")
        except Failed as error:
            self.log("failed", hex(error.code))
            return bytes([error.code])

    def info(self) -> dict[int, Any]:
        extensions = [] if self.ways.get("no-hmac-secret") else ["hmac-secret"]
        info: dict[int, Any] = {1: ["FIDO_2_0"] + ([] if self.ways.get("old") else ["FIDO_2_1"]), 3: bytes(16),
                                5: 1200, 6: [1],
                                4: {"rk": False, "up": True, "clientPin": self.state["pin"] is not None}}
        return info | ({2: extensions} if extensions else {})

    # Credentials: the identifier is a nonce and a tag of it, and all keys are derived from it.

    def is_mine(self, identifier: bytes, party: str) -> bool:
        return hmac.compare_digest(identifier[16:], tag(self.master, b"credential", party.encode(), identifier[:16]))

    def private_key(self, identifier: bytes) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(int.from_bytes(tag(self.master, b"key", identifier), "big") >> 1,
                                     ec.SECP256R1())

    def verify(self, pin_auth: Any, protocol: Any, client_data: bytes, required: bool) -> bool:
        if pin_auth is None:
            if required and self.state["pin"] is not None:
                raise Failed(Failed.PIN_REQUIRED)
            return False
        if self.state["pin"] is None:
            raise Failed(Failed.PIN_NOT_SET)
        if protocol != 1 or not hmac.compare_digest(pin_auth, tag(self.token, client_data)[:16]):
            raise Failed(Failed.PIN_AUTH_INVALID)
        return True

    def make(self, asked: dict[int, Any]) -> dict[int, Any]:
        client_data, party = asked[1], asked[2]["id"]
        if not any(kind["alg"] == -7 for kind in asked[4]):
            raise Failed(Failed.UNSUPPORTED_ALGORITHM)
        verified = self.verify(asked.get(8), asked.get(9), client_data, required=True)
        if asked.get(7, {}).get("rk"):
            raise Failed(Failed.UNSUPPORTED_OPTION)
        self.touch("make")
        nonce = os.urandom(16)
        identifier = nonce + tag(self.master, b"credential", party.encode(), nonce)
        key = self.private_key(identifier)
        wants_secret = asked.get(6, {}).get("hmac-secret") is True
        data = self.data(party, 0x41 | verified << 2 | wants_secret << 7)
        data += bytes(16) + struct.pack(">H", len(identifier)) + identifier + encode(cose(key.public_key(), -7))
        data += encode({"hmac-secret": True}) if wants_secret else b""
        return {1: "packed", 2: data, 3: {"alg": -7, "sig": self.sign(key, data + client_data)}}

    def get_assertion(self, asked: dict[int, Any]) -> dict[int, Any]:
        party, client_data = asked[1], asked[2]
        up = asked.get(5, {}).get("up", True)
        wanted = asked.get(4, {}).get("hmac-secret")
        if wanted is not None and not up:
            raise Failed(Failed.UNSUPPORTED_OPTION)
        verified = self.verify(asked.get(6), asked.get(7), client_data, required=bool(self.ways.get("always-pin")))
        known = [entry["id"] for entry in asked.get(3, []) if self.is_mine(entry["id"], party)]
        if not known:
            self.log("unknown")
            raise Failed(Failed.NO_CREDENTIALS)
        identifier = known[0]
        if up:
            self.touch("assert")
        data = self.data(party, up | verified << 2 | (wanted is not None) << 7)
        if wanted is not None:
            data += encode({"hmac-secret": self.secret(identifier, wanted, verified)})
        key = self.private_key(identifier)
        return {1: {"id": identifier, "type": "public-key"}, 2: data, 3: self.sign(key, data + client_data)}

    def secret(self, identifier: bytes, wanted: dict[int, Any], verified: bool) -> bytes:
        shared = self.shared(wanted[1])
        if not hmac.compare_digest(tag(shared, wanted[2])[:16], wanted[3]):
            raise Failed(Failed.PIN_AUTH_INVALID)
        random = tag(self.master, b"verified" if verified and not self.ways.get("old") else b"present", identifier)
        if self.ways.get("forgetful"):
            random = os.urandom(32)
        salts = aes(shared, wanted[2], decrypt=True)
        return aes(shared, b"".join(tag(random, salts[at:at + 32]) for at in range(0, len(salts), 32)))

    def data(self, party: str, flags: int) -> bytes:
        return hashlib.sha256(party.encode()).digest() + bytes([flags]) + bytes(4)

    @staticmethod
    def sign(key: ec.EllipticCurvePrivateKey, text: bytes) -> bytes:
        return key.sign(hashlib.sha256(text).digest(), ec.ECDSA(utils.Prehashed(hashes.SHA256())))

    def touch(self, what: str) -> None:
        self.log("touch", what)
        if self.ways.get("touch") == "never":
            raise Failed(Failed.TOUCH_TIMEOUT)
        if self.ways.get("touch") == "denied":
            raise Failed(Failed.DENIED)
        while self.ways.get("touch") == "hold":
            try:
                (self.folder / "touched").unlink()
                break
            except FileNotFoundError:
                self.wait_for_touch()

    # The PIN: CTAP 2.1, 6.5, protocol one.

    def shared(self, peer: dict[int, Any]) -> bytes:
        point = ec.EllipticCurvePublicNumbers(int.from_bytes(peer[-2], "big"), int.from_bytes(peer[-3], "big"),
                                              ec.SECP256R1())
        return hashlib.sha256(self.agreement.exchange(ec.ECDH(), point.public_key())).digest()

    def client_pin(self, asked: dict[int, Any]) -> Any:
        step = asked[2]
        if step == 1:
            return {3: self.state["tries"]}
        if asked.get(1) != 1:
            raise Failed(Failed.MISSING_PARAMETER)
        if step == 2:
            return {1: cose(self.agreement.public_key(), -25)}
        if step == 3:
            shared = self.shared(asked[3])
            if self.state["pin"] is not None or tag(shared, asked[5])[:16] != asked[4]:
                raise Failed(Failed.PIN_AUTH_INVALID)
            self.set_pin(aes(shared, asked[5], decrypt=True).rstrip(b"\0"))
            return None
        if step == 5:
            return self.pin_token(self.shared(asked[3]), asked[6])
        raise Failed(Failed.INVALID_COMMAND)

    def set_pin(self, pin: bytes) -> None:
        if not 4 <= len(pin) <= 63:
            raise Failed(Failed.PIN_POLICY)
        self.state |= {"pin": hashlib.sha256(pin).digest()[:16].hex(), "tries": MAX_TRIES}
        self.save()

    def pin_token(self, shared: bytes, encrypted: bytes) -> dict[int, Any]:
        if self.state["pin"] is None:
            raise Failed(Failed.PIN_NOT_SET)
        if self.state["tries"] == 0:
            raise Failed(Failed.PIN_BLOCKED)
        if self.tries_now == 0:
            raise Failed(Failed.PIN_AUTH_BLOCKED)
        # The counter goes down before the PIN is compared.
        self.state["tries"] -= 1
        self.tries_now -= 1
        self.save()
        if aes(shared, encrypted, decrypt=True).hex() != self.state["pin"]:
            self.log("wrong PIN")
            self.agreement = ec.generate_private_key(ec.SECP256R1())
            if self.state["tries"] == 0:
                raise Failed(Failed.PIN_BLOCKED)
            raise Failed(Failed.PIN_AUTH_BLOCKED if self.tries_now == 0 else Failed.PIN_INVALID)
        self.state["tries"], self.tries_now = MAX_TRIES, TRIES_PER_POWER
        self.save()
        return {2: aes(shared, self.token)}


class Wire:
    """One connection: CTAP 2.1, section 11.2."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.channel = BROADCAST

    def report(self) -> bytes:
        raw = b""
        while len(raw) < 64:
            more = self.connection.recv(64 - len(raw))
            if not more:
                raise EOFError
            raw += more
        return raw

    def message(self) -> tuple[int, int, bytes]:
        raw = self.report()
        channel, command, size = struct.unpack(">IBH", raw[:7])
        text = raw[7:]
        while len(text) < size:
            text += self.report()[5:]
        return channel, command, text[:size]

    def send(self, channel: int, command: int, text: bytes) -> None:
        raw = struct.pack(">IBH", channel, command, len(text)) + text[:57]
        self.connection.sendall(raw.ljust(64, b"\0"))
        for number, at in enumerate(range(57, len(text), 59)):
            self.connection.sendall((struct.pack(">IB", channel, number) + text[at:at + 59]).ljust(64, b"\0"))

    def wait_for_touch(self) -> None:
        """Says for a moment that it waits; the only message that may arrive meanwhile is a cancel."""
        self.send(self.channel, KEEPALIVE, b"\2")
        self.connection.settimeout(0.1)
        try:
            if self.message()[1] == CANCEL:
                raise Failed(Failed.CANCELLED)
        except TimeoutError:
            pass
        finally:
            self.connection.settimeout(None)

    def serve(self, key: Authenticator) -> None:
        try:
            while True:
                self.answer(key, *self.message())
        except (EOFError, ConnectionError):
            self.connection.close()

    def answer(self, key: Authenticator, channel: int, command: int, text: bytes) -> None:
        if command == INIT:
            self.channel = struct.unpack(">I", os.urandom(4))[0] & 0x7FFFFFFF | 1
            # CBOR, and no messages of U2F.
            self.send(channel, INIT, text[:8] + struct.pack(">IBBBBB", self.channel, 2, 1, 0, 0, 0x0C))
        elif command == PING:
            self.send(channel, PING, text)
        elif command == CBOR:
            self.send(channel, KEEPALIVE, b"\1")
            with key.one_at_a_time:
                key.wait_for_touch = self.wait_for_touch
                result = key.run(text[0], text[1:])
            self.send(channel, CBOR, result)
        elif command != CANCEL:
            self.send(channel, ERROR, b"\1")


def end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


def main() -> None:
    folder = Path(sys.argv[1])
    listener = socket.socket(socket.AF_UNIX)
    (folder / "key").unlink(missing_ok=True)
    key = Authenticator(folder)
    if len(sys.argv) > 2 and key.state["pin"] is None:
        key.set_pin(sys.argv[2].encode())
    listener.bind(str(folder / "key"))
    listener.listen()
    threading.Thread(target=end_with_input, daemon=True).start()
    while True:
        wire = Wire(listener.accept()[0])
        threading.Thread(target=wire.serve, args=[key], daemon=True).start()


main()
