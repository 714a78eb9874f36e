import Crypto
import Failure
import Format

/// A keybag, the bytes that its MACs authenticate, and the checks that each key allows.
struct SealedKeybag: Sendable {
    let file: KeybagFile
    let bytes: [UInt8]

    init(decoding bytes: [UInt8]) throws(Failure) {
        file = try format(try KeybagFile(decoding: unsafe bytes.span.bytes))
        self.bytes = bytes
    }

    /// Authenticates `file`. Both keys are needed, since the device MAC covers the unlock MAC.
    init(sealing file: KeybagFile, _ bundle: borrowing Bundle, _ device: borrowing DeviceKey) throws(Failure) {
        try self.init(sealing: file, unlockMACKey: crypto(try bundle.unlockMACKey()), device)
    }

    init(
        sealing file: KeybagFile, unlockMACKey: borrowing Secret, _ device: borrowing DeviceKey
    ) throws(Failure) {
        guard file.canWrite else { throw .foreignFeature }
        var bytes = try format(try file.encodeWithoutTags())
        bytes += try crypto(try MessageAuthenticator(key: unlockMACKey.copy())).tag(of: bytes)
        bytes += try crypto(try device.keybagAuthenticator()).tag(of: bytes)
        self.file = file
        self.bytes = bytes
    }

    /// At mount: volume key and class key D, after the device MAC has authenticated all bytes.
    func openDeviceSlot(_ device: borrowing DeviceKey) throws(Failure) -> DeviceSlotKeys {
        guard file.volume == device.volume else { throw .deviceKeyMismatch }
        let isWhole = try crypto(try device.keybagAuthenticator()).verify(
            bytes.suffix(KeybagFile.tagByteCount) + [], of: bytes.dropLast(KeybagFile.tagByteCount) + [])
        let slotKey = try crypto(try device.slotKey())
        let keys: Secret
        do throws(CryptoError) {
            keys = try KeyWrap.unwrap(file.deviceSlot, under: slotKey)
        } catch {
            guard error == .notAuthentic else { throw .crypto(error) }
            guard !isWhole else { throw .tampered(reason: "its device slot does not open") }
            // If neither fits, the device key is most likely the one from before a recovery on another machine.
            throw file.recovered.map { .recoveredElsewhere(created: $0) } ?? .deviceKeyMismatch
        }
        guard isWhole else { throw .tampered(reason: "it was changed without this machine's device key") }
        return DeviceSlotKeys(keys)
    }

    /// At unlock: all checks that the bundle allows, before any of its keys is used.
    func verify(_ bundle: borrowing Bundle) throws(Failure) {
        let isWhole = try isAuthentic(under: crypto(try bundle.unlockMACKey()))
        // Before the MAC: an attacker who exchanged the public key cannot forge the MAC, but this error says more.
        guard try crypto(try X25519.publicKey(of: bundle.privateKeyB())) == file.publicKey else {
            throw .tampered(
                reason:
                    "its public key of class complete-unless-open was exchanged: distrust the files of that class that "
                    + "were made or written since, another person can read them")
        }
        guard isWhole else { throw .tampered(reason: "it was changed without the passcode") }
    }

    /// Whether the unlock MAC is correct.
    func isAuthentic(under unlockMACKey: borrowing Secret) throws(Failure) -> Bool {
        let tags = bytes.count - KeybagFile.tagsByteCount
        return try crypto(try MessageAuthenticator(key: unlockMACKey.copy())).verify(
            bytes[tags..<tags + KeybagFile.tagByteCount] + [], of: bytes[..<tags] + [])
    }

    /// At unlock with a device key: checks that the slot and the device slot release the same keys.
    func verify(_ bundle: borrowing Bundle, against keys: borrowing DeviceSlotKeys) throws(Failure) {
        let volumeKey = try crypto(try bundle.volumeKey())
        guard volumeKey.equals(try crypto(try keys.volumeKey())) else {
            throw .tampered(reason: "its device slot and its passcode slot hold different volume keys")
        }
        let classKeyD = try crypto(try bundle.classKeyD())
        guard classKeyD.equals(try crypto(try keys.classKeyD())) else {
            throw .tampered(reason: "its device slot and its passcode slot hold different keys of class none")
        }
    }
}

extension KeybagFile {
    /// When the oldest slot for the device key was made, if that was after a slot that needs none: a vault begins with
    /// the former, and a recovery removes all of them.
    fileprivate var recovered: UInt64? {
        let known = slots.filter { $0.credentialKind != nil }
        let oldest = known.min { ($0.head?.identifier ?? 0) < ($1.head?.identifier ?? 0) }
        guard oldest?.credentialKind?.isPortable == true else { return nil }
        return known.filter { $0.credentialKind?.isPortable == false }
            .min { ($0.head?.identifier ?? 0) < ($1.head?.identifier ?? 0) }?.head?.created
    }
}

/// What the device slot wraps: 64 bytes, two keys of 32.
struct DeviceSlotKeys: ~Copyable {
    private let bytes: Secret

    init(_ bytes: consuming Secret) {
        precondition(bytes.count == 64)
        self.bytes = bytes
    }

    func volumeKey() throws(CryptoError) -> Secret { try bytes.slice(0..<32) }
    func classKeyD() throws(CryptoError) -> Secret { try bytes.slice(32..<64) }

    /// The device slot for a device key.
    static func wrap(_ bundle: borrowing Bundle, _ device: borrowing DeviceKey) throws(CryptoError) -> [UInt8] {
        try KeyWrap.wrap(Secret(joining: bundle.volumeKey(), bundle.classKeyD()), under: device.slotKey())
    }
}
