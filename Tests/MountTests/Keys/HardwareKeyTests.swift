import Foundation
import SoftTPM
import TestSupport
import Testing

extension MountTests {
    /// A device key held by a TPM; here by one in software.
    @Suite struct DeviceKeysInHardware {
        private let tpm: SoftTPM

        init() throws { tpm = try SoftTPM() }

        private func made(_ options: [String] = []) throws -> Vault {
            try Vault(["--device-key", "tpm2"] + options, variables: ["LATCHKEY_TCTI": tpm.tcti])
        }

        private func elsewhere(_ other: SoftTPM?, _ vault: Vault, _ arguments: [String]) throws -> Outcome {
            try attempt(
                Built.latchkey, arguments,
                environment: vault.environment.merging(["LATCHKEY_TCTI": other?.tcti ?? "device:/dev/null"]) { $1 })
        }

        private func check(_ vault: Vault, _ options: [String] = []) throws {
            try withMount(vault, options: options) { mount in
                let text = try shell("cat a 2>/dev/null || { echo secret > a; cat a; }", in: mount.path).text
                #expect(text == "secret\n")
            }
        }

        /// Ordinary use: the file holds no key, `status` names its kind, and a power cycle of the machine changes
        /// nothing.
        @Test func opensOnThisMachineOnly() throws {
            let vault = try made()
            try withMount(vault) { mount in
                try shell("echo secret > a && setfattr -n user.latchkey.class -v complete a", in: mount.path)
                    .succeeded()
                #expect(try vault.latchkey(["status", mount.path]).succeeded().text.contains("tpm2: sealed by"))
                try vault.latchkey(["lock", "--now", mount.path]).succeeded()
                try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, mount.path]).succeeded()
            }
            let file = try Data(contentsOf: URL(filePath: try vault.deviceKeyFile()))
            #expect(file.starts(with: Data("LKTPMKEY".utf8)))
            try tpm.powerCycle()
            try check(vault)
            let shown = try vault.latchkey(["device-key", "show", vault.path]).succeeded().text
            #expect(shown.contains("tpm2: sealed by") && shown.contains("yes"))

            let point = try vault.folder.makeFolder("point")
            let mounting = ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point]
            for (other, words) in [(try SoftTPM(), "another machine's TPM"), (nil, "no TPM answers")]
                as [(SoftTPM?, String)]
            {
                let outcome = try elsewhere(other, vault, mounting)
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome)")
                #expect(try elsewhere(other, vault, ["device-key", "show", vault.path]).status == 1)
            }
            // By the recovery key, on a machine with another TPM or none: a new device key, and all data.
            let moved = vault.folder.path("moved.key")
            let recovery = ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            try elsewhere(
                nil, vault,
                recovery + ["--passcode-file", vault.passcodeFile, "--device-key", moved, vault.path, point]
            )
            .succeeded()
            #expect(try shell("cat a", in: point).text == "secret\n")
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// The chip knows of a newer keybag also if the file that remembers it is removed, or put back.
        @Test(arguments: [true, false]) func theChipKnowsANewerKeybag(isPutBack: Bool) throws {
            let vault = try made()
            try check(vault)
            let seen = try vault.deviceKeyFile() + ".seen"
            let (older, olderSeen) = (try Disk.read(vault.keybag), try Disk.read(seen))
            let another = try vault.folder.write("another passcode", to: "another")
            try vault.latchkey([
                "passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", another, vault.path,
            ]).succeeded()
            let newest = try Disk.read(vault.keybag)
            try Disk.write(older, to: vault.keybag)
            if isPutBack {
                try Disk.write(olderSeen, to: seen)
            } else {
                try FileManager.default.removeItem(atPath: seen)
            }
            try tpm.powerCycle()
            let point = try vault.folder.makeFolder("point")
            let mounting = ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point]
            let refused = try vault.latchkey(mounting)
            #expect(refused.status == 6 && refused.errors.contains("TPM has counted a newer keybag"), "\(refused)")
            #expect(refused.errors.contains("latchkey mount --recovery"), "\(refused)")
            let accepted = try vault.latchkey(["accept", "--keybag", "--passcode-file", another, vault.path])
            #expect(accepted.status == 6 && accepted.errors.contains("TPM has counted a newer keybag"), "\(accepted)")
            // The newest one opens, and a recovery writes a newer one than that.
            try Disk.write(newest, to: vault.keybag)
            try vault.latchkey(["mount", "--unlock", "--passcode-file", another, vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            try Disk.write(older, to: vault.keybag)
            try vault.latchkey([
                "mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", another,
                vault.path, point,
            ]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            try check(vault, ["--passcode-file", another])
        }

        /// The TPM counts wrong passcodes, and after too many refuses the right one, also if the count beside the
        /// device key is removed. So four digits are allowed.
        @Test func theChipCounts() throws {
            let vault = try made()
            try check(vault)
            let digits = try vault.folder.write("2580", to: "digits")
            try vault.latchkey([
                "passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", digits, vault.path,
            ])
            .succeeded()
            let guess = vault.folder.path("guess")
            var outcome: Outcome?
            for number in 0..<20 where outcome?.errors.contains("too many") != true {
                _ = try vault.folder.write("\(1000 + number)", to: "guess")
                try? FileManager.default.removeItem(atPath: try vault.deviceKeyFile() + ".tries")
                outcome = try vault.latchkey(["slot", "test", "--passcode-file", guess, vault.path])
                #expect(outcome?.status == 3)
            }
            #expect(outcome?.errors.contains("too many") == true)
            try FileManager.default.removeItem(atPath: try vault.deviceKeyFile() + ".tries")
            let right = try vault.latchkey(["slot", "test", "--passcode-file", digits, vault.path])
            #expect(right.status == 3 && right.errors.contains("too many"), "\(right)")
            let recovery = ["--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            try vault.latchkey(["slot", "test"] + recovery + [vault.path]).succeeded()
            try tpm.resetLockout()
            try vault.latchkey(["slot", "test", "--passcode-file", digits, vault.path]).succeeded()
        }

        /// The count beside the device key holds no digest of a wrong passcode, against which candidates could be
        /// tested without the TPM's lockout. A count of an earlier version loses its digest when it is next written.
        @Test func theCountTellsNothingOfTheLastWrongOne() throws {
            let vault = try made()
            let count = URL(filePath: try vault.deviceKeyFile() + ".tries")
            let guess = try vault.folder.write("2580", to: "guess")
            for number in 1...2 as ClosedRange<UInt8> {
                #expect(try vault.latchkey(["slot", "test", "--passcode-file", guess, vault.path]).status == 3)
                var bytes = Array(try Data(contentsOf: count))
                #expect(bytes[24] == number && bytes[28..<30] == [0, 0], "\(bytes)")
                bytes.replaceSubrange(28..<30, with: [0x34, 0x12])
                try Data(bytes).write(to: count)
            }
            try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
            #expect(Array(try Data(contentsOf: count))[24..<30] == [0, 0, 0, 0, 0, 0])
        }

        /// Bound to PCRs: a machine that was started differently cannot open it, until it is bound to its present
        /// state.
        @Test func boundToRegisters() throws {
            let vault = try made(["--pcrs", "7,16"])
            try check(vault)
            try tpm.extend(pcr: 16)
            let refused = try vault.latchkey(["device-key", "show", vault.path])
            #expect(refused.status == 1 && refused.text.contains("started in another way"), "\(refused)")
            let rebind = ["device-key", "rebind", "--pcrs", "7", "tpm2", vault.path]
            #expect(try vault.latchkey(rebind).status == 1)
            // The state before: PCR 16 is for debugging, and a power cycle resets it.
            try tpm.powerCycle()
            #expect(try vault.latchkey(rebind).succeeded().text.contains("while PCRs 7 stay"))
            try tpm.extend(pcr: 16)
            try check(vault)
        }

        /// From a file to the TPM and back: the passcode stays; the file first holds no key any more, then holds one
        /// again.
        @Test func keptOtherwise() throws {
            let vault = try Vault(variables: ["LATCHKEY_TCTI": tpm.tcti])
            try check(vault)
            let file = try vault.deviceKeyFile()
            let key = try Data(contentsOf: URL(filePath: file))
            let passcode = ["--passcode-file", vault.passcodeFile]
            let wrong = try vault.folder.write("wrong", to: "wrong")
            #expect(
                try vault.latchkey(["device-key", "rebind", "--passcode-file", wrong, "tpm2", vault.path]).status == 3)
            #expect(try Data(contentsOf: URL(filePath: file)) == key)
            try vault.latchkey(["device-key", "rebind"] + passcode + ["tpm2", vault.path]).succeeded()
            #expect(try !Data(contentsOf: URL(filePath: file)).starts(with: key.prefix(8)))
            try check(vault)
            let exported = vault.folder.path("exported")
            try vault.latchkey(["device-key", "export", exported, vault.path]).succeeded()
            #expect(try Data(contentsOf: URL(filePath: exported)) == key)
            // The TPM holds a part of the passcode's key: the device key alone does not open the vault.
            let without = ["slot", "test", "--device-key", exported] + passcode + [vault.path]
            let refused = try vault.latchkey(without)
            #expect(refused.status == 1 && refused.errors.contains("has a part in a TPM"), "\(refused)")
            #expect(!Disk.exists(exported + ".tries"))
            try vault.latchkey(["device-key", "rebind"] + passcode + ["software", vault.path]).succeeded()
            #expect(try Data(contentsOf: URL(filePath: file)) == key)
            try vault.latchkey(without).succeeded()
            tpm.switchOff()
            try check(vault)
        }

        private func state(_ vault: Vault) throws -> String {
            try vault.latchkey(["device-key", "show", vault.path]).text
        }

        /// Interrupted between the key and the passcode: everything opens, `show` reports it, and the same command
        /// completes it, or a new passcode, which replaces the old ones.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why), arguments: ["rebind", "passwd"])
        func brokenOff(completedBy command: String) throws {
            let vault = try Vault(variables: ["LATCHKEY_TCTI": tpm.tcti])
            try check(vault)
            let passcode = ["--passcode-file", vault.passcodeFile]
            let another = try vault.folder.write("another passcode", to: "another")
            try vault.latchkey(["slot", "add", "passcode"] + passcode + ["--new-passcode-file", another, vault.path])
                .succeeded()
            let rebind = ["device-key", "rebind"] + passcode + ["tpm2", vault.path]
            do {
                // No keybag can be written.
                try run("chattr", ["+i", vault.path]).succeeded()
                defer { _ = try? run("chattr", ["-i", vault.path]) }
                #expect(try vault.latchkey(rebind).status != 0)
            }
            #expect(try state(vault).contains("unfinished"))
            try check(vault)
            let exported = vault.folder.path("exported")
            try vault.latchkey(["device-key", "export", exported, vault.path]).succeeded()
            if command == "passwd" {
                try vault.latchkey(["passwd"] + passcode + ["--new-passcode-file", another, vault.path]).succeeded()
                #expect(try !state(vault).contains("unfinished"))
                return
            }
            try vault.latchkey(rebind).succeeded()
            #expect(try !state(vault).contains("unfinished"))
            for file in [vault.passcodeFile, another] {
                let outcome = try vault.latchkey([
                    "slot", "test", "--device-key", exported, "--passcode-file", file, vault.path,
                ])
                #expect(outcome.status == 1 && outcome.errors.contains("has a part in a TPM"), "\(outcome)")
            }
            // Nor does a slot stay that no passcode opens.
            try vault.latchkey([
                "slot", "remove", "--yes", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "2", vault.path,
            ])
            .succeeded()
            let last = try vault.latchkey(["slot", "remove"] + passcode + ["3", vault.path])
            #expect(last.status == 1, "\(last)")
            try check(vault)
        }

        /// If the key cannot be replaced, nothing changes: no passcode stays that opens the vault without the TPM.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why)) func cannotBeKeptOtherwise() throws {
            let vault = try made()
            try check(vault)
            let folder = vault.folder.path("state/latchkey")
            try run("chattr", ["+i", folder])
            defer { _ = try? shell("chattr -i '\(folder)'", in: "/") }
            let before = try vault.latchkey(["slot", "list", vault.path]).text
            let rebind = ["device-key", "rebind", "--passcode-file", vault.passcodeFile, "software", vault.path]
            #expect(try vault.latchkey(rebind).status == 1)
            try shell("chattr -i '\(folder)'", in: "/").succeeded()
            let after = try vault.latchkey(["slot", "list", vault.path]).text
            #expect(after == before)
            try check(vault)
        }

        /// With the recovery key, whatever happened to the TPM. The new device key goes to the old one's path; the old
        /// file is kept under another name.
        @Test(arguments: ["another TPM", "no TPM", "other registers", "an empty file"]) func recovered(from: String)
            throws
        {
            let vault = try made(["--pcrs", "16"])
            try check(vault)
            let file = try vault.deviceKeyFile()
            let sealed = try Data(contentsOf: URL(filePath: file))
            var other: SoftTPM? = tpm
            switch from {
            case "another TPM": other = try SoftTPM()
            case "no TPM": other = nil
            case "other registers": try tpm.extend(pcr: 16)
            default: try Data().write(to: URL(filePath: file))
            }
            let point = try vault.folder.makeFolder("point")
            let recovery = ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            let opened = try elsewhere(
                other, vault, recovery + ["--passcode-file", vault.passcodeFile, vault.path, point]
            )
            .succeeded()
            #expect(opened.text.contains("cannot be used"), "\(opened)")
            #expect(try shell("cat a", in: point).text == "secret\n")
            let status = try elsewhere(other, vault, ["status", point]).succeeded().text
            let isSealed = from == "another TPM" || from == "other registers"
            #expect(status.contains(isSealed ? "tpm2: sealed by" : "software"), "\(status)")
            try elsewhere(other, vault, ["unmount", point]).succeeded()
            let unused = Disk.tree(vault.folder.path("state/latchkey")).filter { $0.contains(".unused-") }
            #expect(unused.count == 1)
            if from != "an empty file" {
                #expect(try Data(contentsOf: URL(filePath: vault.folder.path("state/latchkey/" + unused[0]))) == sealed)
            }
            try elsewhere(other, vault, ["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        }

        /// Only one passcode: the TPM would count each use of another as a wrong one. Four digits suffice with the TPM,
        /// and not with a file.
        @Test func whatPasscodesATPMTakes() throws {
            let vault = try made()
            let passcode = ["--passcode-file", vault.passcodeFile]
            let digits = try vault.folder.write("2580", to: "digits")
            let second = try vault.latchkey(
                ["slot", "add", "passcode"] + passcode + ["--new-passcode-file", digits, vault.path])
            #expect(second.status == 1 && second.errors.contains("in a TPM has only one"), "\(second)")
            let point = try vault.folder.makeFolder("point")
            let recovery = ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            try vault.latchkey(recovery + ["--passcode-file", digits, vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            let rebind = ["device-key", "rebind", "--passcode-file", digits]
            let refused = try vault.latchkey(rebind + ["software", vault.path])
            #expect(refused.status == 1 && refused.errors.contains("too weak"), "\(refused)")
            try vault.latchkey(["slot", "test", "--passcode-file", digits, vault.path]).succeeded()
            try vault.latchkey(rebind + ["--weak", "software", vault.path]).succeeded()
            try vault.latchkey(["slot", "test", "--passcode-file", digits, vault.path]).succeeded()
        }

        /// Bound again without naming PCRs, it stays bound to the same ones.
        @Test func registersStay() throws {
            let vault = try made(["--pcrs", "16"])
            try tpm.powerCycle()
            #expect(
                try vault.latchkey(["device-key", "rebind", "tpm2", vault.path]).succeeded().text.contains("PCRs 16"))
            let none = ["device-key", "rebind", "--pcrs", "none", "tpm2", vault.path]
            #expect(try !vault.latchkey(none).succeeded().text.contains("PCRs"))
        }

        /// Erased, mounted or not: the TPM has nothing to release, and counts nothing any more.
        @Test(arguments: [false, true]) func erased(isMounted: Bool) throws {
            let vault = try made()
            let file = try vault.deviceKeyFile()
            #expect(try tpm.definedIndices().count == 1)
            let point = try vault.folder.makeFolder("point")
            if isMounted { try vault.latchkey(["mount", vault.path, point]).succeeded() }
            try vault.latchkey(["erase", "--yes", isMounted ? point : vault.path]).succeeded()
            #expect(!Disk.exists(file) && !Disk.exists(vault.keybag))
            #expect(try tpm.definedIndices().isEmpty)
        }

        /// The same after an erasure that was interrupted before the device key.
        @Test func erasedAtLast() throws {
            let vault = try made()
            let file = try vault.deviceKeyFile()
            try vault.latchkey(["erase", "--yes", "--keep-device-key", vault.path]).succeeded()
            #expect(Disk.exists(file))
            #expect(try tpm.definedIndices().count == 1)
            try vault.latchkey(["erase", "--yes", "--device-key", file, vault.path]).succeeded()
            #expect(!Disk.exists(file))
            #expect(try tpm.definedIndices().isEmpty)
        }

        /// Nor does the TPM count for a vault that could not be made.
        @Test func madeInVain() throws {
            let folder = try TemporaryFolder()
            let vault = try folder.makeFolder("vault")
            _ = try folder.write("here", to: "here.key")
            let outcome = try attempt(
                Built.latchkey, ["init", "--device-key", "tpm2", "--no-passcode", vault],
                environment: Environment.plain.merging([
                    "LATCHKEY_TCTI": tpm.tcti, "XDG_STATE_HOME": folder.path("here.key"),
                ]) { $1 })
            #expect(outcome.status != 0, "\(outcome)")
            #expect(try tpm.definedIndices().isEmpty)
        }
    }
}
