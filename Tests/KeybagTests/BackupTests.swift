import Crypto
import Failure
import Format
import Posix
import Store
import TestSecrets
import Testing

@testable import Keybag

/// A keybag is backed up under a passphrase of its own, and restored.
@Suite struct BackupTests {
    private func credential(_ text: String = "passcode") throws -> Credential {
        try Credential(.passcode, reading: secret(text))
    }

    private func backup(_ vault: Vault) throws -> [UInt8] {
        try vault.open(readOnly: true).backup(
            passphrase: secret("five random words"), cost: .minimum, opening: credential())
    }

    private func restore(
        _ bytes: [UInt8], _ vault: Vault, in store: (any Store)? = nil, at path: String? = nil
    ) throws -> OpenKeybag {
        let opened = try OpenedBackup(bytes, passphrase: secret("five random words"))
        let path = path ?? vault.folder.path + "/new.key"
        return try OpenKeybag.restore(
            opened, in: store ?? vault.folder.store(),
            newDeviceKey: DeviceKeyFile.loadOrCreate(path: path, volume: vault.volume),
            newPasscode: secret("new passcode"), cost: .minimum)
    }

    /// Whatever state the present keybag is in.
    @Test(arguments: ["it is there", "it is gone", "it is damaged", "it is truncated"]) func comesBack(state: String)
        throws
    {
        let vault = try Vault()
        let keybag = try vault.open()
        let wanted = try keybag.unlock(passcode: secret("passcode")).exposed
        let escrow = try X25519.generate()
        _ = try keybag.addSlot(NewSlot(escrow: escrow.publicKey), opening: credential())
        let bytes = try backup(vault)
        let whole = try vault.keybag
        switch state {
        case "it is gone": try vault.folder.remove("lk.keybag")
        case "it is damaged": try vault.writeKeybag(flipping(60, in: whole))
        case "it is truncated": try vault.writeKeybag(Array(whole.prefix(100)))
        default: break
        }
        let restored = try restore(bytes, vault)
        let elsewhere = try OpenKeybag.open(
            in: vault.folder.store(), deviceKey: DeviceKeyFile.load(path: Path(vault.folder.path + "/new.key")))
        for keybag in [restored, elsewhere] {
            #expect(try keybag.unlock(passcode: secret("new passcode")).exposed == wanted)
            #expect(try keybag.unlock(recoveryKey: vault.recoveryKey).exposed == wanted)
            let private64 = try EscrowKey.encode(escrow.privateKey)
            #expect(try keybag.unlock(Credential(.escrowKey, reading: private64)).exposed == wanted)
            #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
            #expect(keybag.file.slots.count == 3 && keybag.file.generation == 3)
        }
        let created = try #require(restored.file.slots.first?.head?.created)
        #expect(failure { _ = try vault.open() } == .recoveredElsewhere(created: created))
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
    }

    /// A slot that was added or removed after the backup is as the present keybag has it, not as the backup has it.
    @Test func thePresentKeybagsSlotsCount() throws {
        let vault = try Vault()
        let bytes = try backup(vault)
        let keybag = try vault.open()
        let second = try RecoveryKeyText.generate()
        _ = try keybag.addSlot(NewSlot(Credential(recoveryKey: second)), opening: credential())
        try keybag.removeSlot(2, opening: credential())
        let restored = try restore(bytes, vault)
        _ = try restored.unlock(recoveryKey: second)
        #expect(failure { _ = try restored.unlock(recoveryKey: vault.recoveryKey) } == .wrong(.recoveryKey))
    }

    /// A generation that is not authenticated does not count; the last possible generation has no next one.
    @Test func theLastGeneration() throws {
        let vault = try Vault()
        let bytes = try backup(vault)
        let whole = try vault.keybag
        var last = whole
        last[51] = 0x20
        try vault.writeKeybag(last)
        #expect(try restore(bytes, vault).file.generation == 2)

        try vault.writeKeybag(whole)
        let opened = try OpenedBackup(bytes, passphrase: secret("five random words"))
        var file = opened.file
        file.generation = KeybagFile.highestGeneration
        let device = try DeviceKeyFile.load(path: Path(vault.folder.deviceKeyPath))
        try vault.writeKeybag(SealedKeybag(sealing: file, opened.bundle, device).bytes)
        let keybag = try vault.open()
        #expect(
            failure {
                try keybag.changePasscode(from: secret("passcode"), to: secret("another passcode"))
            }?.isDamaged == true)
        #expect(failure { _ = try restore(bytes, vault) }?.isDamaged == true)
        _ = try vault.open().unlock(passcode: secret("passcode"))
    }

    @Test func whatIsRefused() throws {
        let vault = try Vault()
        let bytes = try backup(vault)
        let before = try vault.folder.files
        func open(_ bytes: [UInt8], _ text: String = "five random words") -> Failure? {
            failure { _ = try OpenedBackup(bytes, passphrase: secret(text)) }
        }
        #expect(open(bytes) == nil)
        #expect(open(bytes, "five random word") == .wrongPassphrase)
        #expect(open([]) == .notABackup)
        #expect(open(try vault.keybag) == .notABackup)
        #expect(open(Array(bytes.prefix(200))) == .damagedBackup)
        // Each byte matters. Argon2's cost is changed only to values that are refused before they are computed.
        for index in [8, 10, 12, 13, 20, 33, 43, 46, 50, 52, 60, 68, 100, 267] + Array(268..<bytes.count) {
            if index >= 300, index % 7 != 0, index < bytes.count - 40 { continue }
            var other = bytes
            other[index] ^= 0x80
            #expect(open(other) != nil, "byte \(index)")
        }
        for count in [1, 32, 64, 100] { #expect(open(Array(bytes.dropLast(count))) != nil) }
        #expect(open(bytes + [0]) != nil)

        let other = try Vault()
        let error = failure { _ = try restore(bytes, vault, in: other.folder.store()) }
        #expect(error == .otherKeys)
        #expect(try vault.folder.files == before)
        #expect(
            failure {
                _ = try vault.open().backup(
                    passphrase: secret("five random words"), cost: .minimum, opening: credential("wrong"))
            } == .wrong(.passcode))
        #expect(
            failure { _ = try vault.open().backup(passphrase: secret("1234"), cost: .minimum, opening: credential()) }
                == .weakPasscode)
    }

    /// The backup has no byte of the keys' inputs in the clear.
    @Test func saysNothing() throws {
        let vault = try Vault()
        let keys = try vault.open().unlock(passcode: secret("passcode")).exposed
        let bytes = try backup(vault)
        for key in [keys[0], keys[2], keys[3]] {
            #expect(!bytes.indices.dropLast(8).contains { Array(bytes[$0..<$0 + 8]) == Array(key.prefix(8)) })
        }
        #expect(try backup(vault) != bytes)
    }
}
