import TestSupport

/// A keybag forged by an attacker with the device key (a thief of the whole disk that holds it in a file). He can make
/// the device MAC match again, so that only the unlock can detect the change.
enum ForgedKeybag {
    /// Applies a Python statement to the bytearray `bag`, then seals it with the device key.
    static func forge(_ vault: Vault, _ statement: String) throws {
        try run("python3", ["-c", script, vault.keybag, vault.deviceKeyFile(), statement]).succeeded()
    }

    /// Where the value of a record begins, for the statements: `at(type)`.
    private static let script = """
        import hashlib, hmac, struct, sys
        bag = bytearray(open(sys.argv[1], "rb").read())
        device_key = open(sys.argv[2], "rb").read()[32:64]
        def mac(key, data):
            return hmac.new(key, bytes(data), hashlib.sha256).digest()
        def at(wanted):
            position = 52
            while position < len(bag) - 64:
                kind, _, length = struct.unpack_from("<HHI", bag, position)
                if kind == wanted:
                    return position + 8
                position += 8 + length
            raise SystemExit("no record of type %d" % wanted)
        exec(sys.argv[3])
        volume = bytes(bag[28:44])
        key = mac(mac(volume, device_key), b"latchkey keybag" + bytes([1]))
        bag[-32:] = mac(key, bag[:-32])
        open(sys.argv[1], "wb").write(bag)
        """
}
