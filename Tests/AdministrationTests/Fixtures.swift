import Administration
import Crypto
import Failure
import Foundation
import Keybag
import Posix

/// Folders for a vault and its device key, gone with the test.
final class Folders: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/latchkey-administration-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var vault: String { path + "/vault" }
    var deviceKey: String { path + "/device.key" }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: vault).sorted() }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + "/" + name))
    }

    /// Makes a vault whose passcode is "passcode".
    ///
    /// - Parameter handingOut: between the making of its recovery key and of the vault.
    @discardableResult
    func make(
        recoveryKey: borrowing Secret, handingOut: () throws -> Void = {}
    ) throws -> VaultCreation.Made {
        let fresh = try FreshFolder(Path(vault))
        try fresh.make()
        var plan = VaultCreation.Plan(defaultClass: .completeUntilFirstUserAuthentication, cost: .minimum)
        plan.allowsWeak = true
        plan.deviceKeyPath = Path(deviceKey)
        return try VaultCreation(in: fresh, plan).make(.passcode, secret("passcode"), recoveryKey: recoveryKey) {
            make in
            try handingOut()
            return try make()
        }
    }

    func slots() throws(Failure) -> FolderSlots {
        try FolderSlots(AbsolutePath(ofVault: Path(vault)), deviceKeyPath: Path(deviceKey))
    }
}

func secret(_ text: String) throws(CryptoError) -> Secret { try unsafe Secret(copying: Array(text.utf8).span.bytes) }
