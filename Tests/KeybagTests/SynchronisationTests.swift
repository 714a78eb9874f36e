import Crypto
import Failure
import Format
import Posix
import Store
import TestSecrets
import Testing

@testable import Keybag

/// An existing vault becomes a synchronised one.
@Suite struct SynchronisationTests {
    private func credential(_ text: String = "passcode") throws -> Credential {
        try Credential(.passcode, reading: secret(text))
    }

    @Test func keysAndSlotsStay() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let keys = try keybag.unlock(passcode: secret("passcode")).exposed
        let before = keybag.file
        var isPrepared = false
        try keybag.becomeSynchronised(opening: credential()) { isPrepared = true }
        #expect(isPrepared)
        for file in [keybag.file, try vault.open().file] {
            #expect(file.isSynchronised && file.numbersDirectories && file.numbersBlocks)
            #expect(file.settings.directoryRecords == .file && file.settings.created == before.settings.created)
            #expect(file.settings.eraseAfter == before.settings.eraseAfter)
            #expect(file.slots == before.slots && file.generation == before.generation + 1)
        }
        let again = try vault.open().unlock(passcode: secret("passcode")).exposed
        #expect(again == keys)
        #expect(Set(try vault.folder.files.keys) == ["lk.keybag"])
    }

    @Test func nothingChangesIfItFails() throws {
        let vault = try Vault()
        let before = try vault.folder.files
        let keybag = try vault.open()
        var isPrepared = false
        let wrong = failure { try keybag.becomeSynchronised(opening: credential("wrong")) { isPrepared = true } }
        #expect(wrong == .wrong(.passcode) && !isPrepared)
        let damaged = failure {
            try keybag.becomeSynchronised(opening: credential()) { () throws(Failure) in throw .damaged(reason: "x") }
        }
        #expect(damaged == .damaged(reason: "x"))
        #expect(try vault.folder.files == before)
        #expect(!keybag.file.isSynchronised)
    }

    /// A keybag from before is put back, by a backup or with a copy: the root's record tells.
    @Test(arguments: [true, false]) func aKeybagFromBefore(isFile: Bool) throws {
        let vault = try Vault()
        let old = try vault.keybag
        let bytes = try vault.open(readOnly: true).backup(
            passphrase: secret("five random words"), cost: .minimum, opening: credential())
        try vault.open().becomeSynchronised(opening: credential()) {}
        if isFile {
            try vault.folder.write([1], to: "lk.dir")
        } else {
            try vault.folder.store().makeSymbolicLink(to: [1], "lk.dir", in: vault.folder.store().root)
        }
        try vault.folder.remove("lk.keybag")
        let opened = try OpenedBackup(bytes, passphrase: secret("five random words"))
        let restored = try OpenKeybag.restore(
            opened, in: vault.folder.store(),
            newDeviceKey: DeviceKeyFile.loadOrCreate(path: vault.folder.deviceKeyPath, volume: vault.volume),
            newPasscode: secret("new passcode"), cost: .minimum)
        #expect(restored.file.isSynchronised == isFile)
        try vault.writeKeybag(old)
        let recovered = try OpenKeybag.recover(
            in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey),
            newDeviceKey: DeviceKeyFile.loadOrCreate(path: vault.folder.deviceKeyPath, volume: vault.volume),
            newPasscode: secret("new passcode"), cost: .minimum)
        #expect(recovered.file.isSynchronised == isFile)
    }
}
