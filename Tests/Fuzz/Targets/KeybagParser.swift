import Crypto
import Failure
import Format
import Keybag
import Posix
import Store
import TestSecrets
import TestSupport

/// The keybag, or a backup of one: a file whose last 64 bytes are the two MACs.
///
/// A keybag that decodes is also opened, its device MAC corrected, with the keys of Tests/Vectors/keybag.json: an
/// attacker who has the device key gets as far.
final class KeybagParser: FuzzedParser {
    private static let volume: [UInt8] = [
        0xF3, 0x30, 0xDC, 0x2E, 0xE8, 0x70, 0xA7, 0xE8, 0xDF, 0xF8, 0x4C, 0x9B, 0x18, 0x7D, 0x36, 0x2E,
    ]
    private static let deviceKey: [UInt8] = [
        0xF3, 0xB2, 0x99, 0x0B, 0x27, 0x5F, 0x7C, 0x73, 0x5F, 0x8F, 0xB8, 0xE7, 0xDA, 0xAE, 0xCE, 0xAE,
        0xCE, 0xBF, 0x66, 0xD9, 0x4E, 0x21, 0xA4, 0x04, 0xD9, 0xF3, 0x50, 0xB5, 0x03, 0x4C, 0xEE, 0x9B,
    ]
    private static let recoveryKey: [UInt8] = [
        0xA7, 0x54, 0xC4, 0x03, 0xF5, 0xB1, 0xF1, 0x5F, 0xD6, 0x37, 0x2D, 0x01, 0xB2, 0xD3, 0xFF, 0x59,
        0xB5, 0x0B, 0x37, 0xD1, 0x8D, 0x87, 0xFE, 0xBC, 0x8F, 0xB9, 0x99, 0x4E, 0x09, 0x41, 0x53, 0x2B,
    ]

    private let folder: TemporaryFolder
    private let store: DirectoryStore
    private let authenticator: MessageAuthenticator
    private var keyPath: String { folder.path + "/device.key" }

    init() throws {
        folder = try TemporaryFolder(mode: 0o700)
        store = try DirectoryStore(path: Path(folder.path))
        let file = Array("LKDEVKEY".utf8) + [1, 0, 0, 0, 0, 0, 0, 0] + Self.volume + Self.deviceKey
        try store.plant(file, at: "device.key")
        let device = try secret(Self.deviceKey)
        authenticator = try MessageAuthenticator(
            key: KeyDerivation.hkdf(device, salt: Self.volume, info: Array("latchkey keybag".utf8), count: 32))
    }

    func run(_ input: [UInt8]) throws(Finding) {
        try readBackup(input)
        guard let file = try? unsafe KeybagFile(decoding: input.span.bytes) else { return }
        let signed = Array(input.dropLast(KeybagFile.tagsByteCount))
        let encoded = try demandSuccess(of: "encoding") { try file.encodeWithoutTags() }
        try demand(encoded == signed, "a keybag that is written otherwise than it was read")
        try demand(input.count <= KeybagFile.largest, "a keybag of \(input.count) bytes")
        let keys = file.securityKeys.map(\.entry)
        try demand(
            keys.allSatisfy { SecurityKeyEntry(demands: $0.demands, identifier: $0.identifier, salt: $0.salt) == $0 },
            "a security key's slot of which there can be none")
        try open(file, Array(input.dropLast(KeybagFile.tagByteCount)))
    }

    /// A backup holds a keybag without its MACs.
    private func readBackup(_ input: [UInt8]) throws(Finding) {
        guard let backup = try? KeybagBackup(decoding: input) else { return }
        let encoded = try demandSuccess(of: "encoding a backup") { try backup.encodeWithoutTag() }
        try demand(
            encoded == Array(input.dropLast(KeybagBackup.tagByteCount)),
            "a backup that is written otherwise than it was read")
    }

    private func open(_ file: KeybagFile, _ bytes: [UInt8]) throws(Finding) {
        let sealed = bytes + authenticator.tag(of: bytes)
        try demandSuccess(of: "planting a keybag") { try store.plant(sealed, at: "lk.keybag") }
        let opened = Result { () throws(Failure) in
            try OpenKeybag.open(
                in: store, deviceKey: DeviceKeyFile.load(path: Path(keyPath), counting: false), readOnly: true)
        }
        switch opened {
        case .success(let keybag):
            try demand(keybag.file == file && keybag.settings == file.settings, "a keybag that opens as another")
            try unlock(keybag)
        case .failure(.deviceKeyMismatch), .failure(.recoveredElsewhere), .failure(.tampered): break
        case .failure(let error): throw Finding("a keybag that decodes does not open: \(error)")
        }
    }

    private func unlock(_ keybag: OpenKeybag) throws(Finding) {
        let key = try demandSuccess(of: "copying a key") { try secret(Self.recoveryKey) }
        do throws(Failure) {
            _ = try keybag.unlock(recoveryKey: key)
        } catch {
            switch error {
            case .wrongRecoveryKey, .tampered: break
            default: throw Finding("unlocking: \(error)")
            }
        }
    }
}
