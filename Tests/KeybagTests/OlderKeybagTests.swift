import Crypto
import Failure
import Format
import Foundation
import Posix
import Synchronization
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
        guard case .olderKeybag(let seen, false) = failure({ _ = try vault.open() }) else { return false }
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

    /// The newest keybag takes its place, so what was changed or removed since stays so.
    @Test func whatOpensTheNewestAccepts() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        let older = try vault.keybag
        #expect(failure { try accept(vault, passcode("passcode")) } == .wrong(.passcode))
        #expect(try vault.keybag == older)
        #expect(try isRefused(vault))
        for credential in ["another", "recovery key"] {
            try vault.writeKeybag(older)
            if credential == "another" {
                try accept(vault, passcode(credential))
            } else {
                try accept(vault, Credential(recoveryKey: vault.recoveryKey))
            }
            #expect(try vault.keybag == newest)
        }
        _ = try vault.open().unlock(passcode: secret("another"))
        #expect(failure { _ = try vault.open().unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        #expect(failure { try accept(vault, passcode("another")) } == .notOlder)
    }

    /// A passcode from before is a wrong one: the count of wrong ones does not begin anew.
    @Test func whatWasChangedSinceCountsAsWrong() throws {
        let (vault, _) = try vaultWithOlderKeybag()
        let counter = GuessCounter(besideDeviceKey: Path(vault.folder.deviceKeyPath), volume: vault.volume)
        for (number, text) in ["guess", "passcode", "guess again"].enumerated() {
            #expect(failure { try accept(vault, passcode(text)) } == .wrong(.passcode))
            #expect(try counter.wrong() == number + 1)
        }
        let keybag = try vault.open(readOnly: true)
        #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        #expect(try counter.wrong() == 4)
    }

    /// A copy from before a rotation has files that the newest keybag does not open.
    @Test func nothingAcceptsWhatWasBeforeARotation() throws {
        let vault = try Vault()
        let older = try vault.keybag
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        try keybag.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2])
        try vault.writeKeybag(older)
        #expect(try isRefused(vault))
        #expect(failure { try accept(vault, passcode("passcode")) } == .beforeRotation)
        let read = try vault.open(readOnly: true)
        let counter = GuessCounter(besideDeviceKey: Path(vault.folder.deviceKeyPath), volume: vault.volume)
        #expect(
            failure { _ = try read.unlock(passcode: secret("passcode")) } == .outdatedCredential(kind: .passcode))
        #expect(try counter.wrong() == 0)
        // This opens a copy of the older keybag anywhere, and writes one that is newer than all.
        _ = try read.unlock(recoveryKey: vault.recoveryKey)
        #expect(try vault.keybag == older)
        _ = try OpenKeybag.recover(
            in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey), newDeviceKey: load(vault),
            newPasscode: secret("third"), cost: .minimum, allowingWeak: true)
        _ = try vault.open().unlock(passcode: secret("third"))
    }

    /// In the middle of a rotation the keybag has previous keys, without which some files of that copy do not open.
    @Test(arguments: [true, false]) func theMiddleOfARotation(isRead: Bool) throws {
        let vault = try Vault()
        let key = try Secret(random: 32)
        let file = FileIdentifier(Random.bytes(16))
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        let wrap = try keybag.ring.wrap(key, file: file, class: .complete)
        try keybag.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2])
        let middle = try vault.keybag
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        #expect(try keybag.finishRotation())
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)

        try vault.writeKeybag(middle)
        #expect(try isRefused(vault))
        if !isRead { try accept(vault, passcode("another")) }
        let again = try vault.open(readOnly: isRead)
        again.ring.install(try again.unlock(passcode: secret("another")))
        #expect(try again.ring.unwrap(wrap, file: file, class: .complete).equals(key))
        #expect(
            failure { _ = try vault.open(readOnly: isRead).unlock(passcode: secret("passcode")) } == .wrong(.passcode))
    }

    /// The previous keys of a copy are taken from it, so its MAC must be right: an attacker with the device key alone
    /// can change them.
    @Test(arguments: [true, false]) func theMiddleOfARotationForged(isRead: Bool) throws {
        let vault = try Vault()
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        try keybag.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2])
        let middle = try vault.keybag
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        #expect(try keybag.finishRotation())
        let newest = try SealedKeybag(decoding: vault.keybag)
        try vault.writeKeybag(middle)
        // The last byte of the previous keys, behind settings, public key and device slot.
        try vault.forge { $0[52 + 24 + 40 + 80 + 8 + 175] ^= 1 }
        let forged = try vault.keybag
        try KeybagMemory(besideDeviceKey: Path(vault.folder.deviceKeyPath)).replace(by: newest, load(vault)) { _ in true
        }
        let error = failure {
            if isRead {
                _ = try vault.open(readOnly: true).unlock(passcode: secret("passcode"))
            } else {
                try accept(vault, passcode("passcode"))
            }
        }
        #expect(error?.isTampered ?? false, "\(String(describing: error))")
        #expect(try vault.keybag == forged)
    }

    /// No chip is asked while a keybag is open: one that does not answer must delay neither an unlock nor an erasure.
    @Test(arguments: [true, false]) func theChipIsAskedWhenItIsOpened(isRead: Bool) throws {
        let vault = try Vault()
        let path = Path(vault.folder.deviceKeyPath)
        let counter = CountingDouble()
        let keybag = try OpenKeybag.open(
            in: vault.folder.store(),
            deviceKey: DeviceKeyFile.load(path: path).copy(besides: path, hardware: nil, counter: counter),
            readOnly: isRead)
        let before = counter.questions
        #expect(before == 1)
        _ = try keybag.unlock(passcode: secret("passcode"))
        _ = try keybag.slot(openedBy: passcode("passcode"))
        #expect(keybag.destroy(deviceKeyPath: path).failure == nil)
        #expect(counter.questions == before)
    }

    /// Of a backup beside the vault, what unlocks the vault now unlocks, and nothing else.
    @Test func anOlderOneIsOpenedToBeRead() throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        let older = try vault.keybag
        let keybag = try vault.open(readOnly: true)
        #expect(keybag.isOlder && !keybag.isPrevious)
        #expect(failure { _ = try keybag.slot(openedBy: passcode("passcode")) } == .wrong(.passcode))
        _ = try keybag.unlock(passcode: secret("another"))
        _ = try keybag.unlock(recoveryKey: vault.recoveryKey)
        #expect(
            failure {
                _ = try keybag.backup(
                    passphrase: secret("passphrase"), cost: .minimum, opening: passcode("another"), allowingWeak: true)
            }.map { if case .olderKeybag = $0 { true } else { false } } ?? false)
        #expect(try vault.keybag == older)
        try vault.writeKeybag(newest)
        #expect(try !vault.open(readOnly: true).isOlder)
        // It becomes the older one while it is open.
        let open = try vault.open(readOnly: true)
        try vault.open().changePasscode(from: secret("another"), to: secret("third"), allowingWeak: true)
        try vault.writeKeybag(newest)
        #expect(failure { _ = try open.unlock(passcode: secret("another")) } == .wrong(.passcode))
        _ = try open.unlock(passcode: secret("third"))
    }

    /// The newest keybag may lie beside the older one: nothing is tidied before the older one is refused.
    @Test(arguments: [true, false]) func theNewestBesideItStays(isThere: Bool) throws {
        let (vault, newest) = try vaultWithOlderKeybag()
        let older = try vault.keybag
        try vault.folder.write(isThere ? newest : older, to: "lk.keybag.old")
        if !isThere { try vault.writeKeybag(flipping(60, in: newest)) }
        let before = try vault.folder.files
        let error = failure { _ = try vault.open() }
        if isThere { #expect(try isRefused(vault)) } else { #expect(error?.isTampered ?? false) }
        #expect(failure { try accept(vault, passcode("passcode")) } == .wrong(.passcode))
        #expect(try vault.folder.files == before)
        try accept(vault, passcode("another"))
        #expect(try vault.keybag == newest)
    }

    /// A keybag that is open is not changed once a copy of the vault has a newer one: one of the changes would be lost.
    @Test func aCopyBesideTheOpenVault() throws {
        let vault = try Vault()
        let open = try vault.open()
        open.ring.install(try open.unlock(passcode: secret("passcode")))
        let before = try vault.keybag
        // In the copy.
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        try vault.writeKeybag(before)
        func isRefused(_ body: () throws -> Void) -> Bool {
            if case .olderKeybag = failure(body) { true } else { false }
        }
        #expect(
            isRefused {
                try open.changePasscode(from: secret("passcode"), to: secret("third"), allowingWeak: true)
            })
        #expect(isRefused { try open.removeSlot(2, opening: passcode("passcode")) })
        #expect(isRefused { try open.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2]) })
        #expect(try vault.keybag == before)
    }

    /// A rotation that is under way ends nevertheless.
    @Test func aCopyBesideARotation() throws {
        let vault = try Vault()
        let open = try vault.open()
        open.ring.install(try open.unlock(passcode: secret("passcode")))
        try open.beginRotation(opening: passcode("passcode"), recoveryKey: nil, dropping: [2])
        open.ring.install(try open.unlock(passcode: secret("passcode")))
        let middle = try vault.keybag
        for text in ["second", "third", "fourth"] {
            let old = text == "second" ? "passcode" : text == "third" ? "second" : "third"
            try vault.open().changePasscode(from: secret(old), to: secret(text), allowingWeak: true)
        }
        try vault.writeKeybag(middle)
        #expect(try open.finishRotation())
        #expect(try vault.open().file.previousKeys == nil)
    }

    /// A recovery with an older keybag brings no slot back that was removed since.
    @Test(arguments: [true, false]) func whatWasRemovedStaysSo(byBackup: Bool) throws {
        let vault = try Vault()
        let removed = try RecoveryKeyText.generate()
        let slot = try vault.open().addSlot(
            NewSlot(Credential(recoveryKey: removed.copy())), opening: Credential(recoveryKey: vault.recoveryKey))
        let older = try vault.keybag
        let backup = try vault.open().backup(
            passphrase: secret("passphrase"), cost: .minimum, opening: passcode("passcode"), allowingWeak: true)
        try vault.open().removeSlot(slot, opening: Credential(recoveryKey: vault.recoveryKey))
        try vault.writeKeybag(older)
        if byBackup {
            try vault.folder.remove("lk.keybag")
            _ = try OpenKeybag.restore(
                OpenedBackup(backup, passphrase: secret("passphrase")), in: vault.folder.store(),
                newDeviceKey: load(vault), newPasscode: secret("third"), cost: .minimum, allowingWeak: true)
        } else {
            _ = try OpenKeybag.recover(
                in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey), newDeviceKey: load(vault),
                newPasscode: secret("third"), cost: .minimum, allowingWeak: true)
        }
        _ = try vault.open().unlock(recoveryKey: vault.recoveryKey)
        #expect(failure { _ = try vault.open().unlock(recoveryKey: removed) } == .wrong(.recoveryKey))
    }

    /// A key that is used by a symbolic link and by its own path has one memory.
    @Test func aLinkToTheDeviceKey() throws {
        let vault = try Vault()
        let link = vault.folder.path + "/link.key"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: vault.folder.deviceKeyPath)
        let older = try vault.keybag
        try OpenKeybag.open(in: vault.folder.store(), deviceKey: DeviceKeyFile.load(path: Path(link))).changePasscode(
            from: secret("passcode"), to: secret("another"), allowingWeak: true)
        try vault.writeKeybag(older)
        #expect(try isRefused(vault))
    }

    /// The chip counts what this process has written and remembers, and nothing else.
    @Test func aCounter() throws {
        let vault = try Vault()
        let path = Path(vault.folder.deviceKeyPath)
        let counter = CountingDouble()
        func open() throws -> OpenKeybag {
            try OpenKeybag.open(
                in: vault.folder.store(),
                deviceKey: DeviceKeyFile.load(path: path).copy(besides: path, hardware: nil, counter: counter))
        }
        let older = try vault.keybag
        _ = try open().unlock(passcode: secret("passcode"))
        #expect(counter.lowest() == 1)
        try open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        #expect(counter.lowest() == 2)
        // Only the chip knows of the newer one.
        try vault.forgetKeybags()
        let newest = try vault.keybag
        try vault.writeKeybag(older)
        #expect(failure { _ = try open() } == .olderKeybag(seen: nil, isConflict: false))
        try vault.writeKeybag(newest)
        // What is not remembered is not counted: nothing could take an older keybag's place.
        let temporary = try #require(
            TemporaryKeyFile.name(for: Name(bytes: Array("device.key.seen".utf8))!).map { "\($0)" })
        let folder = (vault.folder.deviceKeyPath as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(
            atPath: "\(folder)/\(temporary)", withIntermediateDirectories: false)
        try open().changePasscode(from: secret("another"), to: secret("third"), allowingWeak: true)
        #expect(counter.lowest() == 2)
    }

    /// Two machines with the same device key change the same keybag.
    @Test func aConflict() throws {
        let vault = try Vault()
        let before = try vault.keybag
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        let ours = try vault.keybag
        try vault.writeKeybag(before)
        try vault.forgetKeybags()
        _ = try vault.open().addSlot(
            NewSlot(Credential(recoveryKey: RecoveryKeyText.generate())),
            opening: Credential(recoveryKey: vault.recoveryKey))
        let theirs = try vault.keybag
        try vault.forgetKeybags()
        try vault.writeKeybag(ours)
        _ = try vault.open().unlock(passcode: secret("another"))
        try vault.writeKeybag(theirs)
        guard case .olderKeybag(_, true) = failure({ _ = try vault.open() }) else {
            Issue.record("it is not called a conflict")
            return
        }
        try accept(vault, passcode("another"))
        #expect(try vault.open().file.generation == 3)
        _ = try vault.open().unlock(passcode: secret("another"))
        // The other machine takes it without a question: it is newer than both.
        try vault.forgetKeybags()
        let accepted = try vault.keybag
        try vault.writeKeybag(theirs)
        _ = try vault.open().unlock(passcode: secret("passcode"))
        try vault.writeKeybag(accepted)
        _ = try vault.open().unlock(passcode: secret("another"))
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
            for index in stride(from: 0, to: bytes.count, by: 7) {
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
        try vault.forge { $0[51] = 0x20 }
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
        let before = try Data(contentsOf: URL(filePath: seenFile(vault)))
        let temporary = try #require(
            TemporaryKeyFile.name(for: Name(bytes: Array("device.key.seen".utf8))!).map { "\($0)" })
        let folder = (vault.folder.deviceKeyPath as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(
            atPath: "\(folder)/\(temporary)", withIntermediateDirectories: false)
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        _ = try vault.open().unlock(passcode: secret("another"))
        let seen = try #require(try? Data(contentsOf: URL(filePath: seenFile(vault))))
        #expect(seen == before)
    }

    /// Root works with another user's device key: that user still reads what is remembered.
    @Test(.enabled(if: geteuid() == 0)) func rootGivesItToTheOwner() throws {
        let vault = try Vault()
        let changed = unsafe chown(vault.folder.deviceKeyPath, 1234, 1234)
        #expect(changed == 0)
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        let attributes = try FileManager.default.attributesOfItem(atPath: seenFile(vault))
        #expect(attributes[.ownerAccountID] as? Int == 1234 && attributes[.posixPermissions] as? Int == 0o600)
    }

    /// If the device key is kept for other copies, the memory stays, unless it is the keybag that was destroyed.
    @Test(arguments: [true, false]) func erasingACopyAlone(isNewest: Bool) throws {
        let vault = try Vault()
        let older = try vault.keybag
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another"), allowingWeak: true)
        let keybag = try vault.open()
        if !isNewest { try vault.writeKeybag(older) }
        #expect(keybag.destroy(deviceKeyPath: nil).failure == nil)
        #expect(FileManager.default.fileExists(atPath: seenFile(vault)) == !isNewest)
    }

    /// What was seen last is a keybag with all its slots.
    @Test(arguments: [true, false]) func erasingDestroysIt(afterGuesses: Bool) throws {
        let vault = try Vault()
        let keybag = try vault.open()
        _ = try keybag.unlock(passcode: secret("passcode"))
        let open = try Descriptor.open(path: Path(seenFile(vault)), O_RDONLY)
        let path = Path(vault.folder.deviceKeyPath)
        let destruction =
            afterGuesses ? keybag.destroyAfterGuesses(deviceKeyPath: path) : keybag.destroy(deviceKeyPath: path)
        #expect(destruction.failure == nil)
        #expect(!FileManager.default.fileExists(atPath: seenFile(vault)))
        var bytes = [UInt8](repeating: 1, count: 4096)
        let count = try open.read(into: &bytes, at: 0)
        #expect(count > 200 && bytes.prefix(count).allSatisfy { $0 == 0 })
    }

    @Test func coding() throws {
        let volume = VolumeIdentifier(Array(0..<16))
        let seen = SeenKeybag(volume: volume, time: 1_750_000_000, keybag: Array(0..<200))
        let bytes = seen.encodedWithoutTag
        #expect(bytes.count == 248)
        #expect(SeenKeybag(decoding: bytes) == seen)
        #expect(SeenKeybag(decoding: bytes + [0]) == nil)
        for index in [0, 8, 9, 10, 11, 12, 15, 40, 47] {
            var changed = bytes
            changed[index] ^= 1
            #expect(SeenKeybag(decoding: changed) == nil, "byte \(index)")
        }
    }
}

/// A chip's counter.
private final class CountingDouble: GenerationCounter {
    private let value = Atomic<UInt64>(1)

    private let asked = Atomic<Int>(0)
    var questions: Int { asked.load(ordering: .relaxed) }

    func lowest() -> UInt64 {
        asked.add(1, ordering: .relaxed)
        return value.load(ordering: .relaxed)
    }
    func raise(to generation: UInt64) { value.store(generation, ordering: .relaxed) }
    func restart(at generation: UInt64) { value.store(generation, ordering: .relaxed) }
}
