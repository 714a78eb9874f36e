import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `slot remove` asks before it takes a way into the vault.
    @Suite struct SlotRemovals {
        let vault: Vault
        let keyFile: String

        /// Slots 1 (passcode), 2 (recovery key) and 3 (key file, "stick").
        init() throws {
            vault = try Vault()
            keyFile = vault.folder.path("key")
            try vault.latchkey(
                [
                    "slot", "add", "key-file", "--passcode-file", vault.passcodeFile, "--new-file", keyFile, "--name",
                    "stick", vault.path,
                ]
            ).succeeded()
        }

        private var byPasscode: [String] { ["--passcode-file", vault.passcodeFile] }

        private func numbers() throws -> [Int] {
            struct Listed: Decodable { let id: Int }
            let json = try vault.latchkey(["slot", "list", "--json", vault.path]).succeeded().output
            return try JSONDecoder().decode([Listed].self, from: Data(json)).map(\.id)
        }

        @Test func asksAtATerminal() throws {
            let remove = ["slot", "remove"] + byPasscode
            for answer in ["no", ""] {
                let refused = try vault.latchkey(
                    remove + ["1", vault.path], answering: [("Type yes to remove it: ", answer)])
                #expect(refused.status == 1 && refused.text.contains("nothing was done"), "\(refused)")
                #expect(refused.text.contains("just opened the vault with"), "\(refused)")
                #expect(refused.text.contains("  2  recovery-key") && refused.text.contains("  3  key-file"))
                #expect(refused.text.contains("stick") && !refused.text.contains("Only a recovery key"))
            }
            #expect(try numbers() == [1, 2, 3])
            let removed = try vault.latchkey(
                remove + ["3", vault.path], answering: [("Type yes to remove it: ", "yes")])
            #expect(removed.text.contains("Slot 3 (key-file, stick) will not open the vault any more."), "\(removed)")
            #expect(!removed.text.contains("just opened"), "\(removed)")
            #expect(try removed.succeeded().text.hasSuffix("Slot 3 is removed.\r\n"))
            #expect(try numbers() == [1, 2])
        }

        /// A script needs `--yes` for what may lock the user out: the slot in use, and the last one for daily use.
        @Test func aScriptSaysYes() throws {
            let byKeyFile = ["--key-file", keyFile]
            let used = try vault.latchkey(["slot", "remove"] + byKeyFile + ["3", vault.path])
            #expect(used.status == 2 && used.errors.contains("which is what has opened the vault"), "\(used)")
            #expect(used.errors.contains("try: latchkey slot remove --yes 3 \(vault.path)"), "\(used)")
            try vault.latchkey(["slot", "remove"] + byKeyFile + ["1", vault.path]).succeeded()
            let byRecovery = ["--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            let last = try vault.latchkey(["slot", "remove"] + byRecovery + ["3", vault.path])
            #expect(last.status == 2 && last.errors.contains("the last one for daily use"), "\(last)")
            #expect(try numbers() == [2, 3])
            let asked = try vault.latchkey(
                ["slot", "remove"] + byRecovery + ["3", vault.path], answering: [("Type yes to remove it: ", "no")])
            #expect(asked.text.contains("Only a recovery key or an escrow key opens the vault then"), "\(asked)")
            try vault.latchkey(["slot", "remove", "--yes"] + byRecovery + ["3", vault.path]).succeeded()
            #expect(try numbers() == [2])
        }
    }
}
