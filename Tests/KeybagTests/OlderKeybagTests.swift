import Crypto
import Failure
import Format
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Keybag

/// An older keybag that is put back is refused, and accepted only by what is still in force.
@Suite struct OlderKeybagTests {
    private func seenFile(_ vault: Vault) -> String { vault.folder.deviceKeyPath + KeybagMemory.suffix }

    private func load(_ vault: Vault) throws -> DeviceKey {
        try DeviceKeyFile.load(path: Path(vault.folder.deviceKeyPath))
    }

    private func accept(_ vault: Vault, _ credential: borrowing Credential) throws {
        try OpenKeybag.acceptOlder(in: vault.folder.store(), deviceKey: load(vault), by: credential)
    }

    private func passcode(_ text: String) throws -> Credential { try Credential(.passcode, reading: secret(text)) }

    private func isRefused(_ vault: Vault) throws -> Bool {
        guard case .olderKeybag(let seen) = failure({ _ = try vault.open() }) else { return false }
        #expect(seen.map { abs(Double($0) - Date.now.timeIntervalSince1970) < 600 } ?? false)
        return true
    }

    /// A vault whose passcode was changed, with the keybag from before the change put back.
    private func vaultWithOlderKeybag() throws -> (vault: Vault, newest: [UInt8]) {
        let vault = try Vault()
        let older = try vault.keybag
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        let newest = try vault.keybag
        try vault.writeKeybag(older)
        return (vault, newest)
    }

    @Test func anOlderOneIsRefused() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        #expect(try isRefused(vault))
        try vault.writeKeybag(newest)
        _ = try vault.open().unlock(passcode: secret("another"))
    }

    /// Each change counts, also after many others.
    @Test(arguments: [1, 10, 300]) func afterManyChanges(count: Int) throws {
        let vault = try Vault()
        let older = try vault.keybag
        for _ in 0..<count {
            let keybag = try vault.open()
            let slot = try keybag.addSlot(
                NewSlot(Credential(recoveryKey: RecoveryKeyText.generate())),
                opening: Credential(recoveryKey: vault.recoveryKey))
            if count > 10 { try keybag.removeSlot(slot, opening: Credential(recoveryKey: vault.recoveryKey)) }
        }
        let newest = try vault.keybag
        try vault.writeKeybag(older)
        #expect(try isRefused(vault))
        try vault.writeKeybag(newest)
        _ = try vault.open()
    }

    @Test func onlyWhatIsStillInForceAccepts() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        let older = try vault.keybag
        #expect(failure { try accept(vault, passcode("passcode")) } == .outdatedCredential(kind: .passcode))
        #expect(failure { try accept(vault, passcode("another")) } == .wrong(.passcode))
        #expect(try vault.keybag == older)
        #expect(try isRefused(vault))
        try accept(vault, Credential(recoveryKey: vault.recoveryKey))
        // It is the newest now: the other one is older than it, and so is the same one once more.
        _ = try vault.open().unlock(passcode: secret("passcode"))
        let accepted = try vault.keybag
        for keybag in [newest, older] {
            try vault.writeKeybag(keybag)
            #expect(try isRefused(vault))
        }
        try vault.writeKeybag(accepted)
        #expect(failure { try accept(vault, passcode("passcode")) } == .notOlder)
    }

    /// A passcode that was not changed since, but something else was.
    @Test func aPasscodeOfNowAccepts() throws {
        let vault = try Vault()
        let older = try vault.keybag
        _ = try vault.open().addSlot(
            NewSlot(Credential(recoveryKey: RecoveryKeyText.generate())),
            opening: Credential(recoveryKey: vault.recoveryKey))
        try vault.writeKeybag(older)
        #expect(try isRefused(vault))
        try accept(vault, passcode("passcode"))
        _ = try vault.open().unlock(passcode: secret("passcode"))
    }

    /// After a rotation no slot is the same. The old recovery key opens a copy of the old keybag anywhere.
    @Test func onlyARecoveryKeyAcceptsWhatWasBeforeARotation() throws {
        let vault = try Vault()
        let older = try vault.keybag
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        try keybag.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2])
        try vault.writeKeybag(older)
        #expect(try isRefused(vault))
        #expect(failure { try accept(vault, passcode("passcode")) } == .outdatedCredential(kind: .passcode))
        try accept(vault, Credential(recoveryKey: vault.recoveryKey))
        _ = try vault.open()
    }

    /// A backup beside the vault is read, but a passcode that was changed since does not unlock it.
    @Test func anOlderOneIsOpenedToBeRead() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        let older = try vault.keybag
        let keybag = try vault.open(readOnly: true)
        #expect(keybag.isOlder)
        #expect(
            failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .outdatedCredential(kind: .passcode))
        #expect(
            failure { _ = try keybag.slot(openedBy: passcode("passcode")) } == .outdatedCredential(kind: .passcode))
        _ = try keybag.unlock(recoveryKey: vault.recoveryKey)
        #expect(try vault.keybag == older)
        try vault.writeKeybag(newest)
        #expect(try !vault.open(readOnly: true).isOlder)
    }

    /// The holder of the recovery key need not accept anything first.
    @Test func aRecoveryIsNewer() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        _ = try OpenKeybag.recover(
            in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey), newDeviceKey: load(vault),
            newPasscode: secret("third"), cost: .minimum, allowingWeak: true)
        _ = try vault.open().unlock(passcode: secret("third"))
        try vault.writeKeybag(newest)
        #expect(try isRefused(vault))
    }

    @Test func aBackupIsNewer() throws {
        let vault = try Vault()
        let bytes = try vault.open().backup(
            passphrase: secret("passphrase"), cost: .minimum, opening: passcode("passcode"), allowingWeak: true)
        for text in ["second", "third"] {
            let old = text == "second" ? "passcode" : "second"
            try vault.open().changePasscode(from: secret(old), to: secret(text), allowingWeak: true)
        }
        try vault.folder.remove("lk.keybag")
        let backup = try OpenedBackup(bytes, passphrase: secret("passphrase"))
        _ = try OpenKeybag.restore(
            backup, in: vault.folder.store(), newDeviceKey: load(vault), newPasscode: secret("fourth"),
            cost: .minimum, allowingWeak: true)
        _ = try vault.open().unlock(passcode: secret("fourth"))
    }

    /// What is lost, damaged, of another vault or of another device key accuses no keybag.
    @Test(arguments: ["missing", "empty", "cut", "changed", "another vault's", "a folder", "a FIFO"])
    func aLostMemoryAccusesNothing(of: String) throws {
        let (vault, _) = try vaultWithOlderKeybag()
        let path = seenFile(vault)
        let bytes = Array(try Data(contentsOf: URL(filePath: path)))
        try FileManager.default.removeItem(atPath: path)
        switch of {
        case "missing": break
        case "empty": try Data().write(to: URL(filePath: path))
        case "cut": try Data(bytes.dropLast()).write(to: URL(filePath: path))
        case "changed":
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 1
                try Data(changed).write(to: URL(filePath: path))
                _ = try vault.open()
            }
        case "another vault's":
            let (other, _) = try vaultWithOlderKeybag()
            try FileManager.default.copyItem(atPath: seenFile(other), toPath: path)
        case "a folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default:
            let made = unsafe mkfifo(path, 0o600)
            #expect(made == 0)
        }
        _ = try vault.open().unlock(passcode: secret("passcode"))
    }

    /// A thief of the device key can make a keybag with any generation, but not its unlock MAC.
    @Test func aForgedGenerationIsNotRemembered() throws {
        let vault = try Vault()
        _ = try vault.open().unlock(passcode: secret("passcode"))
        let honest = try vault.keybag
        try vault.forge { $0.replaceSubrange(44..<52, with: [UInt8](repeating: 0xFE, count: 8)) }
        guard case .tampered = failure({ _ = try vault.open().unlock(passcode: secret("passcode")) }) else {
            Issue.record("it unlocks")
            return
        }
        try vault.writeKeybag(honest)
        _ = try vault.open().unlock(passcode: secret("passcode"))
    }

    /// A folder that cannot be written to keeps nothing from being done, and a change that failed is not remembered.
    @Test func whatCannotBeRememberedIsDone() throws {
        let vault = try Vault()
        let temporary = try #require(
            TemporaryKeyFile.name(for: Name(bytes: Array("device.key.seen".utf8))!).map { "\($0)" })
        let folder = (vault.folder.deviceKeyPath as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(
            atPath: "\(folder)/\(temporary)", withIntermediateDirectories: false)
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        _ = try vault.open().unlock(passcode: secret("another"))
        #expect(!FileManager.default.fileExists(atPath: seenFile(vault)))
    }

    @Test func coding() throws {
        let volume = VolumeIdentifier(Array(0..<16))
        let seen = SeenKeybag(
            volume: volume, generation: 0x0102_0304_0506_0708, time: 1_750_000_000,
            slots: [[UInt8](repeating: 7, count: 16), [UInt8](repeating: 9, count: 16)])
        let bytes = seen.encodedWithoutTag
        #expect(bytes.count == 80)
        #expect(SeenKeybag(decoding: bytes) == seen)
        #expect(SeenKeybag(decoding: bytes + [0]) == nil)
        for index in [0, 8, 9, 10, 11, 12, 15] {
            var changed = bytes
            changed[index] ^= 1
            #expect(SeenKeybag(decoding: changed) == nil, "byte \(index)")
        }
    }
}
