import Crypto
import Failure
import Foundation
import Keybag
import Posix
import Store
import TestSecrets

/// A vault's keybag under attack: whether it opens with the device key, and whether it then unlocks.
final class KeybagBench {
    static let newPasscode = "another passcode"

    /// The keybag as it is, and as it was before a change of the passcode.
    let current: [UInt8]
    let older: [UInt8]
    private let folder: BackingFolder
    /// Has a copy of the device key, and beside it what the machine remembers.
    private let machine: BackingFolder
    private let scene: TamperScene
    private let extent: Bench.Extent
    private let authenticator: MessageAuthenticator
    private var index = 0
    private(set) var tally = Tally()

    enum Expectation: Equatable {
        /// Refused at the mount, to an attacker without a key.
        case refusal
        /// Refused at the mount or at the unlock, by passcode and by recovery key.
        case refusalWhenUnlocked
        /// The keybag opens, and the passcode of its time unlocks it.
        case opening(passcode: String)
    }

    init(_ scene: TamperScene, _ extent: Bench.Extent) throws {
        self.scene = scene
        self.extent = extent
        folder = try BackingFolder()
        machine = try BackingFolder()
        older = scene.current.bytes("lk.keybag")
        let device = try Array(Data(contentsOf: URL(fileURLWithPath: scene.keyPath)))
        let key = try secret(Array(device[32...]))
        authenticator = try MessageAuthenticator(
            key: KeyDerivation.hkdf(key, salt: Array(device[16..<32]), info: Array("latchkey keybag".utf8), count: 32))
        var image = BackingImage()
        image.add("lk.keybag", .file(older))
        try folder.hold(image)
        try Data(device).write(to: URL(fileURLWithPath: machine.path + "/device.key"))
        try OpenKeybag.open(
            in: try DirectoryStore(path: Path(folder.path)),
            deviceKey: try DeviceKeyFile.load(path: Path(machine.path + "/device.key"))
        ).changePasscode(
            from: try secret(TamperScene.passcode), to: try secret(Self.newPasscode))
        current = try folder.image().bytes("lk.keybag")
    }

    /// The device MAC is made valid by an attacker who has the device key.
    func sealed(_ bytes: [UInt8]) -> [UInt8] {
        let signed = Array(bytes.dropLast(32))
        return signed + authenticator.tag(of: signed)
    }

    /// - Parameters:
    ///   - nodes: the contents of the vault's folder.
    ///   - remembering: on the machine that has changed the passcode.
    func attempt(
        _ what: @autoclosure () -> String, _ nodes: [String: BackingImage.Node], expecting expected: Expectation,
        remembering: Bool = false
    ) throws {
        defer { index += 1 }
        guard extent.wants(index) else { return }
        Bench.progress.add(1, ordering: .relaxed)
        var image = BackingImage()
        for (name, node) in nodes { image.add(name, node) }
        try folder.hold(image, afresh: true)
        tally.count(try outcome(expected, remembering), what())
    }

    private func outcome(_ expected: Expectation, _ remembering: Bool) throws -> Tally.Outcome {
        let keybag: OpenKeybag
        do {
            keybag = try OpenKeybag.open(
                in: try DirectoryStore(path: Path(folder.path)),
                deviceKey: try DeviceKeyFile.load(
                    path: Path(remembering ? machine.path + "/device.key" : scene.keyPath), counting: remembering))
        } catch let error as Failure {
            if case .opening = expected { return .violation("does not open: \(error)") }
            return Self.isRefusal(error) ? .refused : .violation("\(error)")
        }
        switch expected {
        case .refusal: return .violation("it opens")
        case .opening(let passcode):
            _ = try keybag.unlock(passcode: try secret(passcode))
            return passcode == Self.newPasscode ? .right : .documented
        case .refusalWhenUnlocked:
            for isByPasscode in [true, false] {
                do {
                    if isByPasscode {
                        _ = try keybag.unlock(passcode: try secret(Self.newPasscode))
                    } else {
                        _ = try keybag.unlock(recoveryKey: try secret(scene.recoveryKey))
                    }
                    return .violation("it unlocks by \(isByPasscode ? "passcode" : "recovery key")")
                } catch let error as Failure {
                    guard Self.isRefusal(error) else { return .violation("\(error)") }
                }
            }
            return .refused
        }
    }

    /// The errors that the commands explain in words of their own.
    private static func isRefusal(_ error: Failure) -> Bool {
        switch error {
        case .damaged(let reason), .tampered(let reason): !reason.isEmpty
        case .notAVault, .olderKeybag, .foreignVersion, .foreignFeature, .deviceKeyMismatch, .recoveredElsewhere: true
        default: error.wrongKind != nil
        }
    }
}
