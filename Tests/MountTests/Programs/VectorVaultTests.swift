import Format
import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The vaults of Tests/Vectors, which tools/make-vectors.py makes from docs/FORMAT.md and without Latchkey.
    @Suite struct VectorVault {
        /// Files of all classes, holes, several links, long names, interrupted renames, unconfirmed lengths, orphans
        /// and stale tails of a crash, foreign names; or the state after a crash with a journal to replay.
        @Test(arguments: [[], ["--journal"], ["--journal-runs"]])
        func showsWhatTheFormatSays(_ which: [String]) throws {
            let vault = try Vault()
            // Removes the vault's own files; the folder, the names in it and the environment stay.
            for path in [vault.path, vault.passcodeFile, vault.recoveryKeyFile, try vault.deviceKeyFile()] {
                try FileManager.default.removeItem(atPath: path)
            }
            let tool = Built.project + "/tools/make-vectors.py"
            try run("python3", [tool, "--vault", vault.folder.path] + which).succeeded()
            let volume = String(hexadecimal: try Disk.read(vault.keybag)[28..<44])
            try FileManager.default.moveItem(
                atPath: vault.folder.path("device.key"),
                toPath: vault.folder.path("state/latchkey/\(volume).key"))
            try withMount(vault, options: ["-o", "ro"]) { mount in
                try run("python3", [tool, "--compare", mount.path] + which).succeeded()
            }
            try withMount(vault) { mount in
                try run("python3", [tool, "--compare", mount.path] + which).succeeded()
            }
            // The vault is complete after what the mount has repaired or left alone.
            try run(
                "python3",
                [Built.project + "/tools/read-vault.py", vault.path, "--device-key", vault.deviceKeyFile()]
                    + ["--passcode-file", vault.passcodeFile, "verify"]
            ).succeeded()
        }
    }
}
