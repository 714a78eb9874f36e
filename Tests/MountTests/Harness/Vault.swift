import Foundation
import TestSupport
import Testing

/// A vault in a folder of its own, with its passcode, recovery key and device key beside it.
final class Vault {
    static let passcode = "correct horse battery staple"

    let folder: TemporaryFolder
    let path: String
    let passcodeFile: String
    let recoveryKeyFile: String
    let environment: [String: String]

    /// Made by `latchkey init` at the lowest cost that the format allows, in an empty folder: `path`, or a new one.
    init(
        _ options: [String] = [], in folder: TemporaryFolder? = nil, at path: String? = nil, hasPasscode: Bool = true,
        variables: [String: String] = [:]
    ) throws {
        if let missing = Built.missing {
            throw HarnessError(missing)
        }
        self.folder = try folder ?? TemporaryFolder()
        self.path = path ?? self.folder.path("vault")
        recoveryKeyFile = self.folder.path("recovery-key")
        passcodeFile = try self.folder.write(Vault.passcode, to: "passcode")
        environment = try Self.environment(in: self.folder).merging(variables) { $1 }
        try latchkey(
            ["init", self.path, "--kdf-memory", "19", "--kdf-passes", "2"]
                + (hasPasscode ? ["--passcode-file", passcodeFile] : ["--no-passcode"]) + [
                    "--recovery-key-file", recoveryKeyFile,
                ] + options
        ).succeeded()
    }

    /// An existing vault, whose device key the caller can name.
    init(at path: String, passcode: String) throws {
        folder = try TemporaryFolder()
        self.path = path
        recoveryKeyFile = folder.path("recovery-key")
        passcodeFile = try folder.write(passcode, to: "passcode")
        environment = try Self.environment(in: folder)
    }

    /// A copy of another vault's folder, with its keys.
    init(copy path: String, of other: Vault) {
        folder = other.folder
        self.path = path
        recoveryKeyFile = other.recoveryKeyFile
        passcodeFile = other.passcodeFile
        environment = other.environment
    }

    private static func environment(in folder: TemporaryFolder) throws -> [String: String] {
        Environment.plain.merging([
            "XDG_STATE_HOME": try folder.makeFolder("state", mode: 0o700),
            "XDG_RUNTIME_DIR": try folder.makeFolder("runtime", mode: 0o700),
        ]) { $1 }
    }

    /// The caller judges a failure by `succeeded`, or by its exit code and message.
    func latchkey(_ arguments: [String], input: [UInt8] = [], within seconds: Double = 60) throws -> Outcome {
        try attempt(Built.latchkey, arguments, input: input, environment: environment, within: seconds)
    }

    /// The one device key file in the state folder.
    func deviceKeyFile() throws -> String {
        let state = folder.path("state/latchkey")
        guard let name = Disk.tree(state).first(where: { $0.hasSuffix(".key") }) else {
            throw HarnessError("no device key in \(state)")
        }
        return state + "/" + name
    }

    var keybag: String { path + "/lk.keybag" }
}
