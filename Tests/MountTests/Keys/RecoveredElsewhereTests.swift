import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A vault in a folder that two machines share was recovered on one of them.
    @Suite struct RecoveredElsewhere {
        private func recover(_ vault: Vault) throws -> Outcome {
            let state = try vault.folder.makeFolder("other-machine", mode: 0o700)
            let environment = vault.environment.merging(["XDG_STATE_HOME": state]) { $1 }
            let point = try vault.folder.makeFolder("other-point")
            let outcome = try run(
                Built.latchkey,
                ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile]
                    + ["--passcode-file", vault.passcodeFile, vault.path, point], environment: environment
            ).succeeded()
            try run(Built.latchkey, ["unmount", point], environment: environment).succeeded()
            return outcome
        }

        @Test func theOldMachineIsTold() throws {
            let vault = try Vault()
            let key = vault.folder.path("stick")
            try vault.latchkey([
                "slot", "add", "key-file", "--new-file", key, "--name", "stick", "--passcode-file", vault.passcodeFile,
                vault.path,
            ]).succeeded()
            let told = try recover(vault).text
            #expect(told.contains("Recovered \(vault.path): it has a new passcode. Its device key is "), "\(told)")
            #expect(told.contains("other-machine/latchkey/") && told.contains(", which is new."), "\(told)")
            #expect(told.contains("of before: passcode (slot 1), key file stick (slot 3)."), "\(told)")
            #expect(told.contains("These still open it: recovery key (slot 2)."), "\(told)")

            let year = try shell("date +%Y-", in: "/").text.dropLast()
            let point = try vault.folder.makeFolder("point")
            for arguments in [["mount", vault.path, point], ["slot", "list", vault.path], ["info", vault.path]] {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 1, "\(outcome)")
                #expect(
                    outcome.errors.contains("the vault was recovered on another machine, by \(year)"), "\(outcome)")
                #expect(outcome.errors.contains("latchkey mount --recovery \(vault.path)"), "\(outcome)")
            }
            // The advice helps: this machine's device key is used again.
            let again = try vault.latchkey([
                "mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file",
                vault.passcodeFile, vault.path, point,
            ]).succeeded()
            #expect(again.text.contains(", which was there."), "\(again)")
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// A keybag that is only damaged was not recovered.
        @Test func aDamagedKeybagIsNotCalledRecovered() throws {
            let vault = try Vault()
            // In the device slot, behind the head, the settings and the public key.
            try Disk.edit(vault.keybag) { $0[52 + 8 + 16 + 8 + 32 + 8 + 20] ^= 1 }
            let outcome = try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("point")])
            #expect(outcome.status != 0 && !outcome.errors.contains("recovered on another machine"), "\(outcome)")
        }
    }
}
