import Crypto
import Failure
import Format
import Foundation
import Posix
import Store
import TestSecrets
import Testing

@testable import Keybag

/// The ways into a vault.
@Suite struct SlotTests {
    private func passcode(_ text: String = "passcode") throws -> Credential {
        try Credential(.passcode, reading: secret(text))
    }

    private func identifiers(_ keybag: OpenKeybag) -> [UInt32] { keybag.file.slots.compactMap { $0.head?.identifier } }

    @Test func eachOpensTheSameKeys() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let wanted = try keybag.unlock(passcode: secret("passcode")).exposed
        let recoveryKey = try RecoveryKeyText.generate()
        let keyFile = try KeyFile.generate()
        let escrow = try X25519.generate()
        let label = try #require(SlotLabel("second"))
        let by = try passcode()
        #expect(try keybag.addSlot(NewSlot(passcode("second passcode")), label: label, opening: by) == 3)
        #expect(try keybag.addSlot(NewSlot(Credential(recoveryKey: recoveryKey)), opening: by) == 4)
        #expect(
            try keybag.addSlot(NewSlot(Credential(.keyFile, reading: keyFile)), opening: passcode("second passcode"))
                == 5)
        #expect(try keybag.addSlot(NewSlot(escrow: escrow.publicKey), opening: by) == 6)
        for keybag in [keybag, try vault.open()] {
            let private64 = try EscrowKey.encode(escrow.privateKey)
            #expect(try keybag.unlock(passcode: secret("second passcode")).exposed == wanted)
            #expect(try keybag.unlock(recoveryKey: recoveryKey).exposed == wanted)
            #expect(try keybag.unlock(recoveryKey: vault.recoveryKey).exposed == wanted)
            #expect(try keybag.unlock(Credential(.keyFile, reading: keyFile)).exposed == wanted)
            #expect(try keybag.unlock(Credential(.escrowKey, reading: private64)).exposed == wanted)
            #expect(try keybag.slot(openedBy: Credential(.keyFile, reading: keyFile)) == 5)
            #expect(try keybag.slot(openedBy: Credential(.escrowKey, reading: private64)) == 6)
            #expect(keybag.file.slots[2].label == label)
            #expect(keybag.file.generation == 5)
            let now = UInt64(time(nil))
            #expect(keybag.file.slots.allSatisfy { now - 60...now ~= $0.head?.created ?? 0 })
        }
    }

    @Test func whatIsRemovedOpensNothing() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let keyFile = try Credential(.keyFile, reading: KeyFile.generate())
        let slot = try keybag.addSlot(
            NewSlot(Credential(.passcode, reading: secret("second passcode"))), opening: passcode())
        _ = try keybag.addSlot(NewSlot(escrow: X25519.generate().publicKey), opening: passcode())
        #expect(failure { _ = try keybag.unlock(keyFile) } == .wrong(.keyFile))
        // The slot's own passcode authorizes its removal.
        try keybag.removeSlot(slot, opening: passcode("second passcode"))
        #expect(failure { _ = try keybag.unlock(passcode: secret("second passcode")) } == .wrong(.passcode))
        #expect(identifiers(keybag) == [1, 2, 4])
        #expect(failure { try keybag.removeSlot(slot, opening: passcode()) } == .noSuchSlot(slot: Int(slot)))
        try keybag.removeSlot(1, opening: Credential(recoveryKey: vault.recoveryKey))
        #expect(failure { _ = try vault.open().unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        try keybag.removeSlot(4, opening: Credential(recoveryKey: vault.recoveryKey))
        let before = try vault.folder.files
        #expect(failure { try keybag.removeSlot(2, opening: Credential(recoveryKey: vault.recoveryKey)) } == .lastSlot)
        #expect(try vault.folder.files == before)
        _ = try vault.open().unlock(recoveryKey: vault.recoveryKey)
    }

    @Test func nothingChangesWithoutACredential() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let before = try vault.folder.files
        let new = NewSlot(escrow: try X25519.generate().publicKey)
        #expect(failure { _ = try keybag.addSlot(new, opening: passcode("wrong")) } == .wrong(.passcode))
        #expect(failure { try keybag.removeSlot(2, opening: passcode("wrong")) } == .wrong(.passcode))
        // A point of small order, and a key of another length.
        for key in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 9, count: 31)] {
            #expect(failure { _ = try keybag.addSlot(NewSlot(escrow: key), opening: passcode()) } == .notAPublicKey)
        }
        let readOnly = try vault.open(readOnly: true)
        #expect(
            failure { _ = try readOnly.addSlot(new, opening: passcode()) } == .io(.EROFS, doing: "replacing lk.keybag"))
        #expect(try vault.folder.files == before)
    }

    @Test func recoveryKeepsWhatNeedsNoDeviceKey() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let escrow = try X25519.generate()
        let wanted = try keybag.unlock(passcode: secret("passcode")).exposed
        _ = try keybag.addSlot(NewSlot(Credential(.keyFile, reading: KeyFile.generate())), opening: passcode())
        _ = try keybag.addSlot(NewSlot(escrow: escrow.publicKey), opening: passcode())
        let by = try Credential(.escrowKey, reading: EscrowKey.encode(escrow.privateKey))
        try OpenKeybag.check(by, in: vault.folder.store())
        let path = vault.folder.path + "/new/device.key"
        let recovered = try OpenKeybag.recover(
            in: vault.folder.store(), by: by,
            newDeviceKey: DeviceKeyFile.create(path: Path(path), volume: vault.volume),
            newPasscode: secret("new passcode"), cost: .minimum)
        #expect(identifiers(recovered) == [5, 2, 4])
        #expect(try recovered.unlock(passcode: secret("new passcode")).exposed == wanted)
        #expect(try recovered.unlock(by).exposed == wanted)
        #expect(try recovered.unlock(recoveryKey: vault.recoveryKey).exposed == wanted)
    }

    /// A passcode from a time when a lower cost was enough.
    @Test func costsAreRaisedWhenAPasscodeIsUsed() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let cheap = Argon2Cost(memoryKiB: 19_456, passes: 1, lanes: 1)
        try keybag.weaken(to: cheap, secret("passcode"))
        try vault.forgetKeybags()
        // Read-only it opens, and stays as it is.
        let before = try vault.folder.files
        _ = try vault.open(readOnly: true).unlock(passcode: secret("passcode"))
        #expect(try vault.folder.files == before)
        let again = try vault.open()
        let keys = try again.unlock(passcode: secret("passcode")).exposed
        guard case .passcode(let slot) = again.file.slots[0] else { throw Failure.notAVault }
        #expect(slot.cost == .minimum && slot.head.identifier == 1)
        #expect(try vault.open().unlock(passcode: secret("passcode")).exposed == keys)
        let generation = again.file.generation
        _ = try again.unlock(passcode: secret("passcode"))
        #expect(again.file.generation == generation, "raised once")
    }

    @Test(arguments: ["", "LKKEY-", "LKKEY", "0123", "LKKEY-0123"]) func whatIsNoKeyFile(text: String) throws {
        #expect(failure { _ = try Credential(.keyFile, reading: secret(text)) } == .notAKeyFile)
    }

    @Test func privateKeysInText() throws {
        let key = try Secret(random: 32)
        let text = try EscrowKey.encode(key)
        #expect(try EscrowKey.decode(text).equals(key))
        let upper = String(decoding: text.exposed, as: UTF8.self).uppercased()
        #expect(try EscrowKey.decode(secret(upper)).equals(key))
        for wrong in ["", "00", String(upper.dropLast()) + "G", upper + "0"] {
            #expect(failure { _ = try EscrowKey.decode(secret(wrong)) } == .wrong(.escrowKey))
        }
    }
}

extension OpenKeybag {
    /// Gives the first slot a cost that no new slot may have.
    fileprivate func weaken(to cost: Argon2Cost, _ passcode: borrowing Secret) throws {
        let credential = try Credential(.passcode, reading: passcode)
        let sealed = sealed.withLock { $0 }
        let opened = try openSlot(of: sealed, credential)
        var file = sealed.file
        let salt = Random.bytes(16)
        let key = try device.passcodeKey(passcode, salt: salt, cost: cost)
        file.slots[0] = .passcode(
            PasscodeSlot(
                SlotHead(identifier: 1, created: 5), memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes,
                salt: salt, wrappedBundle: try KeyWrap.wrap(opened.bundle.bytes, under: key), label: .empty))
        let changed = try SealedKeybag(sealing: file, opened.bundle, device)
        try storage.replace(sealed, by: changed)
        self.sealed.withLock { $0 = changed }
    }
}
