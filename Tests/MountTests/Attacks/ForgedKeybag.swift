import TestSupport

/// A keybag changed by somebody who has the device key (a thief of the whole disk, where it lies in a file) and so can
/// make the device MAC fit again: what only unlocking yields must tell.
enum ForgedKeybag {
    /// Applies a Python statement to the bytearray `bag`, then seals it with the device key.
    static func forge(_ vault: Vault, _ statement: String) throws {
        try run("python3", ["-c", script, vault.keybag, vault.deviceKeyFile(), statement]).succeeded()
    }

    /// Where the value of a record lies, for the statements: `at(type)`.
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
