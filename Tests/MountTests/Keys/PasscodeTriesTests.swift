import Foundation
import SoftTPM
import TestSupport
import Testing

extension MountTests {
    /// The passcode at a terminal: the question names the vault, and a person may mistype it twice.
    @Suite struct PasscodesAtATerminal {
        private func count(_ vault: Vault) throws -> UInt8 {
            try Disk.read(try vault.deviceKeyFile() + ".tries")[24]
        }

        private func wrong(_ vault: Vault, times: Int) throws {
            for number in 0..<times {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                #expect(try vault.latchkey(["slot", "test", "--passcode-file", file, vault.path]).status == 3)
            }
        }

        @Test(arguments: [["unlock"], ["mount", "--unlock"], ["slot", "test"], ["fsck", "--unlock"]])
        func threeTries(command: [String]) throws {
            let vault = try Vault()
            let mount = command[0] == "unlock" ? try MountedVault(vault, unlocked: false) : nil
            defer { mount?.detach() }
            let point = vault.folder.path("point")
            let places = command[0] == "mount" ? [vault.path, try vault.folder.makeFolder("point")] : [vault.path]
            let question = "Passcode of \(vault.path): "
            let third = try vault.latchkey(
                command + places, answering: [(question, "a"), (question, "b"), (question, Vault.passcode)])
            #expect(third.status == 0, "\(third)")
            #expect(third.text.components(separatedBy: "the passcode is wrong").count == 3, "\(third)")
            if command[0] == "mount" { try vault.latchkey(["unmount", point]).succeeded() }

            let none = try vault.latchkey(
                command + places, answering: [(question, "c"), (question, "d"), (question, "e")])
            #expect(none.status == 3 && none.text.components(separatedBy: question).count == 4, "\(none)")
            #expect(try count(vault) == 3)
            // Without a terminal there is one try.
            let piped = try vault.latchkey(command + places, input: Array("f\n\(Vault.passcode)\n".utf8))
            #expect(try piped.status == 3 && count(vault) == 4, "\(piped)")
        }

        /// So do the commands that need the passcode twice, and the daemon in the foreground.
        @Test func theOtherCommands() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let question = "Passcode of \(vault.path): "
            let mistyped = [(question, "a"), (question, Vault.passcode)]
            let (key, recovery) = (vault.folder.path("key"), vault.folder.path("recovery"))
            let phrase = "tundra velvet quorum ostrich dab"
            let phrases = [("Passphrase of the backup: ", phrase), ("The same again: ", phrase)]
            let cheap = ["--kdf-memory", "19", "--kdf-passes", "2"]
            for (command, answers) in [
                (["slot", "add", "key-file", "--new-file", key, vault.path], mistyped),
                (["keybag", "backup"] + cheap + [vault.folder.path("backup"), vault.path], mistyped + phrases),
                (["slot", "remove", "--yes", "3", vault.path], mistyped),
                (["rotate", "--yes", "--recovery-key-file", recovery, mount.path], mistyped),
            ] {
                let outcome = try vault.latchkey(command, answering: answers)
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.text.components(separatedBy: "the passcode is wrong").count == 2, "\(outcome)")
            }
            try mount.unmount()
            let point = try vault.folder.makeFolder("point")
            let foreground = try vault.latchkey(
                ["mount", "--unlock", "--foreground", vault.path, point],
                answering: (0..<3).map { (question, "wrong \($0)") })
            #expect(foreground.status == 3 && mountLines(of: point).isEmpty, "\(foreground)")
        }

        /// The old one is tried before the new one is asked for; elsewhere the two are read first, as ever.
        @Test func theOldOneFirst() throws {
            let vault = try Vault()
            let (old, new) = ("Old passcode of \(vault.path): ", "New passcode of \(vault.path): ")
            let better = "tundra velvet quorum ostrich dab"
            let refused = try vault.latchkey(
                ["passwd", vault.path], answering: [(old, "a"), (old, "b"), (old, "c")])
            #expect(refused.status == 3 && !refused.text.contains("New passcode"), "\(refused)")
            let changed = try vault.latchkey(
                ["passwd", vault.path],
                answering: [(old, "d"), (old, Vault.passcode), (new, better), ("The same again: ", better)])
            #expect(changed.status == 0, "\(changed)")
            let file = try vault.folder.write(better, to: "better")
            try vault.latchkey(["slot", "test", "--passcode-file", file, vault.path]).succeeded()
        }

        /// With a limit there are never more tries than it allows, and the last one is asked about.
        @Test func neverMoreThanTheLimit() throws {
            let vault = try Vault(["--erase-after", "4"])
            try wrong(vault, times: 1)
            let question = "Passcode of \(vault.path): "
            let outcome = try vault.latchkey(
                ["slot", "test", vault.path],
                answering: [
                    (question, "a"), (question, "b"), (question, "c"), ("Type erase to try it all the same: ", "no"),
                ])
            #expect(outcome.status == 3 && outcome.text.contains("1 of 4 attempts is left"), "\(outcome)")
            #expect(outcome.text.contains("nothing was tried: the last attempt is left"), "\(outcome)")
            #expect(try count(vault) == 3)
        }

        /// A delay is said before anything is typed, also if it begins between two tries.
        @Test func aDelay() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault, unlocked: false)
            defer { mount.detach() }
            try wrong(vault, times: 4)
            let question = "Passcode of \(vault.path): "
            let between = try vault.latchkey(["unlock", mount.path], answering: [(question, "fifth")])
            for outcome in [
                between, try vault.latchkey(["unlock", mount.path], answering: []),
                try vault.latchkey(["passwd", mount.path], answering: []),
            ] {
                #expect(outcome.status == 3 && outcome.text.contains("too many wrong passcodes"), "\(outcome)")
                #expect(outcome.text.contains("none was asked for"), "\(outcome)")
            }
            // The recovery key need not wait.
            let key = try String(contentsOfFile: vault.recoveryKeyFile, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let opened = try vault.latchkey(
                ["unlock", "--recovery", mount.path], answering: [("Recovery key of \(vault.path): ", key)])
            #expect(opened.status == 0, "\(opened)")
        }

        /// The same if the TPM refuses all passcodes.
        @Test func aLockedOutTPM() throws {
            let tpm = try SoftTPM()
            let vault = try Vault(["--device-key", "tpm2"], variables: ["LATCHKEY_TCTI": tpm.tcti])
            let counter = try vault.deviceKeyFile() + ".tries"
            var isLockedOut = false
            for number in 0..<40 where !isLockedOut {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                let outcome = try vault.latchkey(["slot", "test", "--passcode-file", file, vault.path])
                isLockedOut = outcome.errors.contains("too many")
                try shell("rm -f '\(counter)'")
            }
            #expect(isLockedOut)
            let outcome = try vault.latchkey(["slot", "test", vault.path], answering: [])
            #expect(outcome.status == 3 && outcome.text.contains("none was asked for"), "\(outcome)")
        }

        /// A file that other users can read is warned of, and used.
        @Test func aReadableFile() throws {
            let vault = try Vault()
            let keyFile = vault.folder.path("key")
            let test = ["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]
            #expect(try vault.latchkey(test).succeeded().errors.isEmpty)
            for (mode, who) in [("644", "every user of this machine"), ("640", "the group")] {
                try shell("chmod \(mode) '\(vault.passcodeFile)'")
                let outcome = try vault.latchkey(test).succeeded()
                let warning = "warning: the file of the passcode can be read by \(who)"
                #expect(outcome.errors.contains(warning), "\(outcome)")
                let advice = try #require(outcome.errors.split(separator: "\n").last { $0.hasPrefix("  try: chmod") })
                try shell(String(advice.dropFirst("  try: ".count)))
                #expect(try vault.latchkey(test).succeeded().errors.isEmpty)
            }
            try vault.latchkey(
                ["slot", "add", "key-file", "--passcode-file", vault.passcodeFile, "--new-file", keyFile, vault.path]
            ).succeeded()
            try shell("chmod 604 '\(keyFile)'")
            let byKey = try vault.latchkey(["slot", "test", "--key-file", keyFile, vault.path]).succeeded()
            #expect(byKey.errors.contains("warning: the file of the key can be read by every user"), "\(byKey)")
        }
    }
}
