import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The ways into a vault, by the commands: mounted and not.
    @Suite struct Slots {
        let vault: Vault
        let escrowKey: String
        let publicKey: String

        init() throws {
            vault = try Vault()
            escrowKey = vault.folder.path("escrow.pem")
            publicKey = vault.folder.path("escrow-public.pem")
            try run("openssl", ["genpkey", "-algorithm", "X25519", "-out", escrowKey]).succeeded()
            try run("openssl", ["pkey", "-in", escrowKey, "-pubout", "-out", publicKey]).succeeded()
        }

        private struct Listed: Decodable {
            let id: Int
            let kind: String
            let name: String
            let isPortable: Bool
        }

        private func list(_ place: String) throws -> [Listed] {
            let text = try vault.latchkey(["slot", "list", "--json", place]).succeeded().text
            return try JSONDecoder().decode([Listed].self, from: Data(text.utf8))
        }

        private var byPasscode: [String] { ["--passcode-file", vault.passcodeFile] }

        /// All kinds of slots, added, listed, used to unlock, and removed, in the vault or through its mount.
        @Test(arguments: [false, true]) func allKinds(isMounted: Bool) throws {
            let second = try vault.folder.write("another passcode", to: "second")
            let keyFile = vault.folder.path("key")
            let recovery = vault.folder.path("second-recovery")
            try withMount(vault) {
                try shell("echo secret > a; setfattr -n user.latchkey.class -v complete a", in: $0.path).succeeded()
            }
            let mount = isMounted ? try MountedVault(vault) : nil
            defer { mount?.detach() }
            let place = mount?.path ?? vault.path
            for arguments in [
                ["passcode", "--new-passcode-file", second, "--name", "Ann"], ["key-file", "--new-file", keyFile],
                ["recovery-key", "--new-file", recovery], ["escrow-key", "--public-key", publicKey, "--name", "IT"],
            ] {
                try vault.latchkey(["slot", "add"] + byPasscode + arguments + [place]).succeeded()
            }
            let slots = try list(place)
            #expect(slots.map(\.id) == [1, 2, 3, 4, 5, 6])
            #expect(
                slots.map(\.kind) == ["passcode", "recovery-key", "passcode", "key-file", "recovery-key", "escrow-key"])
            #expect(slots.map(\.name) == ["", "", "Ann", "", "", "IT"])
            #expect(slots.map(\.isPortable) == [false, true, false, false, true, true])
            let mode = try FileManager.default.attributesOfItem(atPath: keyFile)[.posixPermissions] as? Int
            #expect(mode == 0o600)

            let ways = [
                (1, byPasscode), (3, ["--passcode-file", second]), (4, ["--key-file", keyFile]),
                (5, ["--recovery", "--recovery-key-file", recovery]), (6, ["--escrow-key", escrowKey]),
                (2, ["--recovery", "--recovery-key-file", vault.recoveryKeyFile]),
            ]
            for (slot, options) in ways {
                let tested = try vault.latchkey(["slot", "test"] + options + [place]).succeeded().text
                #expect(tested.hasPrefix("It opens slot \(slot) ("))
                if let mount {
                    try vault.latchkey(["unlock"] + options + [place]).succeeded()
                    #expect(try shell("cat a", in: mount.path).text == "secret\n")
                    try vault.latchkey(["lock", "--now", place]).succeeded()
                    #expect(try attemptShell("cat a", in: mount.path).status != 0)
                }
            }
            for (slot, options) in ways.prefix(5) {
                try vault.latchkey(["slot", "remove", "--yes", "--escrow-key", escrowKey, "\(slot)", place])
                    .succeeded()
                let tested = try vault.latchkey(["slot", "test"] + options + [place])
                #expect(tested.status == 3, "\(slot)")
                if slot == 5 { break }
            }
        }

        /// The last slot cannot be removed; a wrong secret authorizes nothing; an existing file is not overwritten.
        @Test func refusals() throws {
            let before = try Data(contentsOf: URL(filePath: vault.keybag))
            let wrong = try vault.folder.write("wrong", to: "wrong")
            let unused = vault.folder.path("unused")
            for (arguments, code) in [
                (["add", "--passcode-file", wrong, "key-file", "--new-file", unused], 3),
                (["add"] + byPasscode + ["key-file", "--new-file", wrong], 1),
                (["add"] + byPasscode + ["escrow-key", "--public-key", vault.passcodeFile], 1),
                (["add"] + byPasscode + ["escrow-key", "--public-key", escrowKey], 1),
                (["add"] + byPasscode + ["recovery-key", "--public-key", publicKey], 2),
                (["remove", "--passcode-file", wrong, "2"], 3), (["remove"] + byPasscode + ["7"], 1),
                (["test", "--key-file", vault.passcodeFile], 3), (["test", "--escrow-key", escrowKey], 3),
                (["test", "--escrow-key", publicKey], 1),
            ] as [([String], Int32)] {
                let outcome = try vault.latchkey(["slot"] + arguments + [vault.path])
                #expect(outcome.status == code, "\(arguments): \(outcome)")
                #expect(!FileManager.default.fileExists(atPath: unused))
            }
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == before)
            try vault.latchkey(["slot", "remove"] + byPasscode + ["2", vault.path]).succeeded()
            let last = try vault.latchkey(["slot", "remove"] + byPasscode + ["1", vault.path])
            #expect(last.status == 1 && last.errors.contains("nothing else would open the vault"))
            try withMount(vault, unlocked: true) { try shell("echo b > b", in: $0.path).succeeded() }
        }

        static let weak = ["2580", "1234", "123456", "482913", "password1", "qwerty", "a", "abc"]

        /// The daemon itself refuses weak passcodes, for a client that does not measure their strength.
        @Test func theDaemonTakesNoWeakPasscode() throws {
            let before = try Data(contentsOf: URL(filePath: vault.keybag))
            try withMount(vault) { mount in
                func change(to new: String, _ weak: String) throws -> String {
                    try bareCall(
                        "ChangePasscode", #"{"old": 0, "new": 1\#(weak)}"#, secrets: [Vault.passcode, new], of: mount)
                }
                for weak in Self.weak {
                    let changed = try change(to: weak, "")
                    #expect(changed.contains("io.latchkey.WeakPasscode"), "\(weak): \(changed)")
                    let added = try bareCall(
                        "AddSlot", #"{"secret": 0, "newKind": "passcode", "new": 1}"#,
                        secrets: [Vault.passcode, weak], of: mount)
                    #expect(added.contains("io.latchkey.WeakPasscode"), "\(weak): \(added)")
                }
                #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == before)
                let allowed = try change(to: "qwerty", #", "weak": true"#)
                #expect(!allowed.contains("error"), "\(allowed)")
            }
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) != before)
        }

        /// The rule also holds if the vault is opened without its device key, its keybag comes from a backup, or no
        /// daemon runs.
        @Test(arguments: weak) func weakPasscodesWithoutADaemon(text: String) throws {
            let weak = try vault.folder.write(text, to: "weak")
            let point = try vault.folder.makeFolder("point")
            let phrase = try vault.folder.write("tundra velvet quorum ostrich dab", to: "phrase")
            let backup = vault.folder.path("backup")
            try vault.latchkey(["slot", "add"] + byPasscode + ["escrow-key", "--public-key", publicKey, vault.path])
                .succeeded()
            try vault.latchkey(
                ["keybag", "backup"] + byPasscode + ["--passphrase-file", phrase, "--kdf-memory", "19"]
                    + ["--kdf-passes", "2", backup, vault.path]
            ).succeeded()
            let before = try Data(contentsOf: URL(filePath: vault.keybag))
            let key = try Data(contentsOf: URL(filePath: try vault.deviceKeyFile()))
            let recovery = ["mount", "--recovery", "--passcode-file", weak]
            for arguments in [
                recovery + ["--recovery-key-file", vault.recoveryKeyFile, vault.path, point],
                recovery + ["--escrow-key", escrowKey, "--accept-unproven", vault.path, point],
                ["keybag", "restore", "--passphrase-file", phrase, "--new-passcode-file", weak, backup, vault.path],
                ["passwd"] + byPasscode + ["--new-passcode-file", weak, vault.path],
                ["slot", "add", "passcode"] + byPasscode + ["--new-passcode-file", weak, vault.path],
            ] {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 1 && outcome.errors.contains("too weak"), "\(outcome)")
                #expect(outcome.errors.contains("--weak"), "\(outcome)")
                #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == before)
                #expect(try Data(contentsOf: URL(filePath: try vault.deviceKeyFile())) == key)
            }
            try vault.latchkey(recovery + ["--weak", "--recovery-key-file", vault.recoveryKeyFile, vault.path, point])
                .succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            try vault.latchkey(["slot", "test", "--passcode-file", weak, vault.path]).succeeded()
        }

        /// A weak passcode is accepted only with an explicit option, by every command that sets one; and its strength
        /// is reported.
        @Test(arguments: ["2580", "password1"]) func weakPasscodes(text: String) throws {
            let four = try vault.folder.write(text, to: "four")
            let before = try Data(contentsOf: URL(filePath: vault.keybag))
            let new = vault.folder.path("new")
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let changes = [
                [
                    "init", new, "--passcode-file", four, "--kdf-memory", "19", "--kdf-passes", "2",
                    "--recovery-key-file", new + ".key",
                ],
                ["passwd", mount.path] + byPasscode + ["--new-passcode-file", four],
                ["slot", "add"] + byPasscode + ["passcode", "--new-passcode-file", four, mount.path],
            ]
            for arguments in changes {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 1 && outcome.errors.contains("--weak"), "\(outcome)")
            }
            #expect(
                !FileManager.default.fileExists(atPath: new) && !FileManager.default.fileExists(atPath: new + ".key"))
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == before)
            for arguments in changes.reversed() {
                let text = try vault.latchkey(arguments + ["--weak"]).succeeded().text
                #expect(arguments[0] == "slot" || text.contains("Five random words would stand this."), "\(text)")
            }
            let better = try vault.folder.write("tundra velvet quorum ostrich dab", to: "better")
            let changed = try vault.latchkey([
                "passwd", mount.path, "--passcode-file", four, "--new-passcode-file", better,
            ])
            #expect(try changed.succeeded().text.contains("more than a million years"))
        }

        /// A recovery key that a command prints opens the vault.
        @Test func aRecoveryKeyIsShown() throws {
            let outcome = try vault.latchkey(["slot", "add"] + byPasscode + ["recovery-key", vault.path]).succeeded()
            let key = try #require(outcome.text.split(separator: "\n").first { $0.hasPrefix("    ") })
            let file = try vault.folder.write(key.trimmingCharacters(in: .whitespaces), to: "shown")
            let tested = try vault.latchkey(["slot", "test", "--recovery", "--recovery-key-file", file, vault.path])
            #expect(try tested.succeeded().text == "It opens slot 3 (recovery-key).\n")
        }

        /// On a new machine, by the organisation's key; slots that need the old device key are removed.
        @Test func escrowOpensItElsewhere() throws {
            let vault = try Vault(["--recovery-public-key", publicKey])
            let keyFile = vault.folder.path("key")
            try vault.latchkey(["slot", "add"] + byPasscode + ["key-file", "--new-file", keyFile, vault.path])
                .succeeded()
            try withMount(vault) { try shell("echo kept > a", in: $0.path).succeeded() }
            let moved = vault.folder.path("moved.key")
            let new = try vault.folder.write("a new passcode", to: "new")
            let point = try vault.folder.makeFolder("elsewhere", mode: 0o700)
            try vault.latchkey(
                [
                    "mount", "--recovery", "--escrow-key", escrowKey, "--accept-unproven", "--passcode-file", new,
                    "--device-key", moved, vault.path, point,
                ]
            ).succeeded()
            defer { _ = try? vault.latchkey(["unmount", "--lazy", point]) }
            #expect(try shell("cat a", in: point).text == "kept\n")
            #expect(try list(point).map(\.kind) == ["passcode", "recovery-key", "escrow-key"])
            #expect(try vault.latchkey(["unmount", point]).succeeded().status == 0)
            #expect(try vault.latchkey(["mount", vault.path, point]).status == 1)
        }

        /// Mounted and unlocked at once by a key file.
        @Test func aKeyFileMounts() throws {
            let keyFile = vault.folder.path("key")
            try vault.latchkey(["slot", "add"] + byPasscode + ["key-file", "--new-file", keyFile, vault.path])
                .succeeded()
            let point = try vault.folder.makeFolder("point", mode: 0o700)
            #expect(try vault.latchkey(["mount", "--key-file", vault.passcodeFile, vault.path, point]).status == 3)
            try vault.latchkey(["mount", "--key-file", keyFile, vault.path, point]).succeeded()
            defer { _ = try? vault.latchkey(["unmount", "--lazy", point]) }
            try shell("echo b > b && cat b", in: point).succeeded()
            #expect(try vault.latchkey(["fsck", "--key-file", keyFile, vault.path]).status == 1, "it is mounted")
        }

        /// An encrypted private key asks for its passphrase, only at a terminal.
        @Test func anEncryptedPrivateKey() throws {
            let encrypted = vault.folder.path("encrypted.pem")
            try run(
                "openssl",
                ["pkey", "-in", escrowKey, "-aes256", "-passout", "pass:opensesame", "-out", encrypted]
            ).succeeded()
            try vault.latchkey(["slot", "add"] + byPasscode + ["escrow-key", "--public-key", publicKey, vault.path])
                .succeeded()
            let outcome = try vault.latchkey(["slot", "test", "--escrow-key", encrypted, vault.path])
            #expect(outcome.status == 1 && outcome.errors.contains("is encrypted"))
        }
    }
}
