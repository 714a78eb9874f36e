import Crypto
import Failure
import Format
import Foundation
import Posix
import Store
import TestSecrets
import TestSupport
import Testing

@testable import Keybag

/// A temporary folder, removed with the test.
final class Folder: Sendable {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.makeFolder("vault")
    }

    var path: String { folder.path }
    var deviceKeyPath: String { path + "/state/latchkey/device.key" }

    func store() throws -> DirectoryStore { try DirectoryStore(path: Path(path + "/vault")) }

    /// All files of the vault, for "nothing has changed".
    var files: [String: [UInt8]] {
        get throws {
            var files: [String: [UInt8]] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: path + "/vault") {
                files[name] = try self[name]
            }
            return files
        }
    }

    subscript(_ name: String) -> [UInt8] {
        get throws { Array(try Data(contentsOf: URL(filePath: "\(path)/vault/\(name)"))) }
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(filePath: "\(path)/vault/\(name)"))
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/vault/\(name)")
    }

    var deviceKey: [UInt8] {
        get throws { Array(try Data(contentsOf: URL(filePath: deviceKeyPath))) }
    }
}

/// A folder with a vault's keybag in it; the passcode is "passcode".
final class Vault: Sendable {
    let folder: Folder
    let volume: VolumeIdentifier
    let recoveryKey: Secret
    let publicKey: [UInt8]

    init(eraseAfter: UInt8 = 0) throws {
        folder = try Folder()
        volume = VolumeIdentifier(Random.bytes(16))
        let key = try DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume)
        recoveryKey = try RecoveryKeyText.generate()
        let created = try OpenKeybag.create(
            in: folder.store(), deviceKey: key, passcode: secret("passcode"), recoveryKey: recoveryKey, cost: .minimum,
            settings: KeybagSettings(created: 1_750_000_000, eraseAfter: eraseAfter))
        publicKey = created.file.publicKey
    }

    func open(_ store: (any Store)? = nil, readOnly: Bool = false) throws -> OpenKeybag {
        try OpenKeybag.open(
            in: store ?? folder.store(), deviceKey: DeviceKeyFile.load(path: Path(folder.deviceKeyPath)),
            readOnly: readOnly)
    }

    var keybag: [UInt8] {
        get throws { try folder["lk.keybag"] }
    }

    /// Removes what this machine remembers of the keybag.
    func forgetKeybags() throws {
        let path = folder.deviceKeyPath + KeybagMemory.suffix
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }

    func writeKeybag(_ bytes: [UInt8]) throws { try folder.write(bytes, to: "lk.keybag") }

    /// Writes the keybag anew with a valid device MAC, as an attacker can who has the device key but no passcode, and
    /// has removed what the machine remembers.
    func forge(_ change: (inout [UInt8]) -> Void) throws {
        var bytes = try keybag
        change(&bytes)
        bytes.removeLast(32)
        let device = try DeviceKeyFile.load(path: Path(folder.deviceKeyPath))
        bytes += try device.keybagAuthenticator().tag(of: bytes)
        try writeKeybag(bytes)
        try forgetKeybags()
    }
}

extension DeviceKeyFile {
    /// The key in the file, or a new one in a new file.
    static func loadOrCreate(path: String, volume: VolumeIdentifier) throws -> DeviceKey {
        FileManager.default.fileExists(atPath: path)
            ? try load(path: Path(path)) : try create(path: Path(path), volume: volume)
    }
}

extension ClassKeys {
    var exposed: [[UInt8]] {
        [
            complete.exposed, (try? completeUnlessOpenPrivate.publicKey()) ?? [],
            completeUntilFirstUserAuthentication.exposed,
            none.exposed,
        ]
    }
}

func flipping(_ index: Int, in bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[index] ^= 0x10
    return bytes
}

/// The `Failure` that `body` throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> Failure? {
    do {
        try body()
        return nil
    } catch let error as Failure {
        return error
    } catch {
        Issue.record("not a Failure: \(error)")
        return nil
    }
}

extension Failure {
    var isTampered: Bool { if case .tampered = self { true } else { false } }
    var isDamaged: Bool { if case .damaged = self { true } else { false } }
    var isNotADeviceKey: Bool { if case .notADeviceKey = self { true } else { false } }
}

/// A file in Tests/Vectors, which tools/make-vectors.py made without this program.
struct Vectors {
    private let object: [String: Any]

    init(_ name: String) throws {
        let file = URL(filePath: Built.project + "/Tests/Vectors/\(name).json")
        object = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    private init(_ object: [String: Any]) { self.object = object }

    func text(_ key: String) throws -> String { try #require(object[key] as? String) }
    func number(_ key: String) throws -> Int { try #require(object[key] as? Int) }
    func one(_ key: String) throws -> Vectors { Vectors(try #require(object[key] as? [String: Any])) }
    func all(_ key: String) throws -> [Vectors] { try #require(object[key] as? [[String: Any]]).map(Vectors.init) }

    func bytes(_ key: String) throws -> [UInt8] {
        try #require([UInt8](hexadecimal: text(key)))
    }
}
