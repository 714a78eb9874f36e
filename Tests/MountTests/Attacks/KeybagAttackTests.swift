import TestSupport
import Testing

extension MountTests {
    /// Section 4's table: the keybag.
    @Suite struct KeybagAttacks {
        /// At the mount, by the device MAC: any changed byte is detected.
        @Test func everyFieldIsCoveredByTheDeviceMAC() throws {
            let vault = try Vault()
            let whole = try Disk.read(vault.keybag)
            let mountPoint = try vault.folder.makeFolder("m")
            // Header, settings, public key, device slot, passcode slot (its KDF cost and salt), recovery slot, MACs.
            for offset in stride(from: 0, to: whole.count, by: 23) {
                try Disk.edit(vault.keybag) { $0[offset] ^= 4 }
                let outcome = try vault.latchkey(["mount", vault.path, mountPoint])
                switch offset {
                case 0..<8: #expect(outcome.status == 5 || outcome.status == 6, "byte \(offset): \(outcome)")
                // Another version, or unknown features. A device slot that does not open looks like one of another
                // machine's device key.
                case 8..<28, 124..<196:
                    #expect(outcome.status == 1 || outcome.status == 6, "byte \(offset): \(outcome)")
                default: #expect(outcome.status == 6, "byte \(offset): \(outcome)")
                }
                #expect(!outcome.errors.isEmpty)
                #expect(mountLines(of: mountPoint).isEmpty, "byte \(offset)")
                try Disk.write(whole, to: vault.keybag)
            }
            try withMount(vault) { _ in }
        }

        /// With the device key an attacker can make the device MAC match; the unlock must detect the change.
        @Test(arguments: [
            ("B's public key", "bag[at(2):at(2)+32] = bytes(range(1, 33))"),
            ("the cost of Argon2id, lower", "bag[at(16)+20] = 1"),
            ("the memory of Argon2id", "struct.pack_into('<I', bag, at(16)+16, 20480)"),
            ("the salt", "bag[at(16)+28] ^= 1"),
            ("the wrapped bundle", "bag[at(16)+60] ^= 1"),
            ("the settings", "bag[at(1)] ^= 1"),
            ("the label or slot ID", "bag[at(16)] ^= 1"),
            ("the device slot", "bag[at(3)] ^= 1"),
            ("the unlock MAC", "bag[-64] ^= 1"),
            ("the generation", "bag[44] += 1"),
        ])
        func aForgedKeybagIsRefused(_ what: String, _ statement: String) throws {
            let vault = try Vault(["--default-class", "complete-unless-open"])
            try ForgedKeybag.forge(vault, statement)
            let outcome = try vault.latchkey(
                [
                    "mount", vault.path, try vault.folder.makeFolder("m"), "--unlock", "--passcode-file",
                    vault.passcodeFile,
                ])
            defer { _ = try? vault.latchkey(["unmount", vault.folder.path("m")]) }
            // A changed salt or bundle cannot be told from a wrong passcode; every other change is reported as
            // tampering.
            let mayBeWrongPasscode = statement.contains("at(16)+")
            #expect(outcome.status == 6 || mayBeWrongPasscode && outcome.status == 3, "\(what): \(outcome)")
            #expect(!outcome.errors.isEmpty)
        }

        /// The forgery itself works: sealed again without a change, the keybag opens.
        @Test func anUnchangedKeybagSealedAgainOpens() throws {
            let vault = try Vault()
            try ForgedKeybag.forge(vault, "pass")
            try withMount(vault) { _ in }
        }

        /// A cost outside the bounds is refused before anything is computed: no minute of Argon2id, no 64 GiB.
        @Test(arguments: [
            "struct.pack_into('<I', bag, at(16)+16, 1024)", "struct.pack_into('<I', bag, at(16)+16, 0xffffffff)",
            "struct.pack_into('<I', bag, at(16)+20, 0)", "struct.pack_into('<I', bag, at(16)+20, 65)",
            "struct.pack_into('<I', bag, at(16)+24, 17)", "bag[at(16)+12] = 0x10",
        ])
        func aCostOutOfBoundsIsRefused(_ statement: String) throws {
            let vault = try Vault()
            try ForgedKeybag.forge(vault, statement)
            let start = ContinuousClock.now
            let outcome = try vault.latchkey(
                [
                    "mount", vault.path, try vault.folder.makeFolder("m"), "--unlock", "--passcode-file",
                    vault.passcodeFile,
                ])
            defer { _ = try? vault.latchkey(["unmount", vault.folder.path("m")]) }
            #expect(outcome.status == 6, "\(outcome)")
            #expect(ContinuousClock.now - start < .seconds(5))
        }

        /// The keybag of another vault with the same passcode: it needs another device key.
        @Test func theKeybagOfAnotherVault() throws {
            let vault = try Vault()
            let other = try Vault()
            try Disk.write(try Disk.read(other.keybag), to: vault.keybag)
            let outcome = try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("m")])
            #expect(outcome.status != 0)
            #expect(!outcome.errors.isEmpty)
        }
    }
}
