import Crypto
import Format
import Keybag
import TestSecrets
import Vault

/// Seals what no writer would: every tag is right, and what it covers may be wrong.
///
/// docs/FORMAT.md says how each structure is sealed.
struct Forge {
    private let scene: TamperScene
    private let volume: [UInt8]
    private let deviceKeybag: MessageAuthenticator
    private let unlockKeybag: MessageAuthenticator

    /// - Parameter deviceKey: the 64 bytes of the device key file.
    init(_ scene: TamperScene, deviceKey: [UInt8]) throws {
        self.scene = scene
        volume = scene.keys.volume.bytes
        deviceKeybag = try MessageAuthenticator(
            key: KeyDerivation.hkdf(
                try secret(Array(deviceKey[32...])), salt: volume, info: Array("latchkey keybag".utf8),
                count: 32))
        let bundle = try Self.bundle(of: scene)
        unlockKeybag = try MessageAuthenticator(key: bundle.slice(160..<192))
    }

    /// All keys, as the recovery key opens them.
    private static func bundle(of scene: TamperScene) throws -> Secret {
        let records = KeybagBytes(scene.current.bytes("lk.keybag")).records
        let slot = records.first { $0[0] == 17 }!
        let info = Array("latchkey recovery".utf8) + scene.keys.volume.bytes
        let key = try KeyDerivation.hkdf(
            try secret(scene.recoveryKey), salt: Array(slot[20..<36]), info: info, count: 32)
        let wrap = Array(slot[36..<236])
        return try unsafe KeyWrap.unwrap(wrap.span.bytes, under: key)
    }

    // MARK: The tree

    func identifier(of folder: String) -> [UInt8] {
        let record = scene.current.target(folder.isEmpty ? "lk.dir" : scene.backing(folder) + "/lk.dir")
        return scene.knowledge.records[folder]![record]!.identifier
    }

    /// The backing name, and the ciphertext if that belongs in a sidecar.
    func stored(_ name: [UInt8], in folder: [UInt8], isLong: Bool? = nil) -> (name: String, sidecar: [UInt8]?) {
        guard let ciphertext = try? scene.keys.names.seal(name, associatedData: folder) else { return ("", nil) }
        let text = Self.text(ciphertext)
        return isLong ?? (text.count > 255) ? (Self.long(ciphertext), ciphertext) : (text, nil)
    }

    static func long(_ ciphertext: [UInt8]) -> String { "lk.long." + text(sha256(ciphertext)) }

    func binding(_ name: [UInt8], in folder: [UInt8]) -> [UInt8] {
        Array(scene.keys.bindings.tag(of: folder, name).prefix(16))
    }

    func record(_ bytes: [UInt8], at binding: [UInt8]) -> [UInt8] {
        Self.encoded((try? scene.keys.directories.seal(bytes, associatedData: volume, binding)) ?? [])
    }

    func target(_ target: [UInt8]) -> [UInt8] {
        let nonce = [UInt8](of: "target", version: target.count, count: 16)
        return nonce + ((try? scene.keys.symlinks.seal(target, associatedData: nonce)) ?? [])
    }

    /// The stored name and value of an extended attribute.
    func attribute(
        _ name: [UInt8], _ value: [UInt8], of owner: [UInt8], isLong: Bool = false
    ) -> (name: String, value: [UInt8]) {
        let nonce = [UInt8](of: "attribute", version: value.count + name.count, count: 16)
        guard let sealedName = try? scene.keys.xattrs.seal(name, associatedData: owner, Array("name".utf8)),
            let sealedValue = try? scene.keys.xattrs.seal([0] + value, associatedData: owner, name, nonce)
        else { return ("", []) }
        let short = "user.lk." + Self.text(sealedName)
        guard isLong || short.utf8.count > 255 else { return (short, nonce + sealedValue) }
        let count = UInt16(truncatingIfNeeded: sealedName.count)
        return (
            "user.lk.long." + Self.text(sha256(sealedName)),
            [UInt8(truncatingIfNeeded: count), UInt8(count >> 8)] + sealedName + nonce + sealedValue
        )
    }

    // MARK: What stands at the end of a structure

    func header(_ bytes: [UInt8]) -> [UInt8] { Self.sealed(bytes, 480, scene.keys.headers) }

    func journalHead(_ bytes: [UInt8]) -> [UInt8] { Self.sealed(bytes, 480, scene.keys.journal) }

    /// - Parameter bytes: prefix and payload, padded.
    func journalRecord(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes[4] == 8 else { return bytes + scene.keys.journal.tag(of: volume + bytes) }
        let payload = Array(bytes[64..<64 + Int(bytes.integer(4, at: 60))])
        var hash = try! PolynomialHash(key: scene.keys.journalBlocks)
        let hashed = try! unsafe hash.hash(payload.span.bytes).withBytes { $0.array(0..<PolynomialHash.byteCount) }
        return bytes + scene.keys.journal.tag(of: volume + bytes[..<64] + hashed)
    }

    func summary(_ fields: [UInt8], at binding: [UInt8], size: UInt64, stamp: UInt64) -> [UInt8] {
        let covered = fields + binding + Self.bytes(size, 8) + Self.bytes(stamp, 8)
        return fields + scene.keys.summaries.tag(of: covered).prefix(16)
    }

    /// Sets both MACs; the caller sets the size.
    func keybag(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = Array(bytes.dropLast(64))
        bytes += unlockKeybag.tag(of: bytes)
        return bytes + deviceKeybag.tag(of: bytes)
    }

    private static func sealed(_ bytes: [UInt8], _ count: Int, _ authenticator: MessageAuthenticator) -> [UInt8] {
        let signed = Array(bytes.prefix(count))
        return signed + authenticator.tag(of: signed) + bytes.dropFirst(count + 32)
    }

    // MARK: Bytes

    static func text(_ bytes: [UInt8]) -> String { String(decoding: encoded(bytes), as: UTF8.self) }

    static func encoded(_ bytes: [UInt8]) -> [UInt8] { Base64URL.encode(bytes) }

    static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}

extension [UInt8] {
    /// Puts an integer at an offset.
    mutating func put(_ value: UInt64, _ count: Int, at offset: Int) {
        replaceSubrange(offset..<offset + count, with: Forge.bytes(value, count))
    }

    func integer(_ count: Int, at offset: Int) -> UInt64 {
        (0..<count).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
    }
}
