import Crypto
import Format
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Keybag

/// An attacker who can write to the vault has changed the keybag.
@Suite struct TamperingTests {
    @Test func everyByteCounts() throws {
        let vault = try Vault()
        let bytes = try vault.keybag
        for index in bytes.indices {
            try vault.writeKeybag(flipping(index, in: bytes))
            let error = failure { _ = try vault.open() }
            #expect(error != nil, "byte \(index) of the keybag was flipped unnoticed")
        }
    }

    @Test func everyLengthCounts() throws {
        let vault = try Vault()
        let bytes = try vault.keybag
        for count in bytes.indices {
            try vault.writeKeybag(Array(bytes.prefix(count)))
            #expect(failure { _ = try vault.open() }?.isDamaged == true, "truncated to \(count) bytes")
        }
        try vault.writeKeybag(bytes + [0])
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
        try vault.writeKeybag(bytes + [UInt8](repeating: 0, count: 70_000))
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
    }

    @Test func whatIsNoFileIsRefused() throws {
        let vault = try Vault()
        let path = vault.folder.path + "/vault/lk.keybag"
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "lk.keybag.moved")
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
        try FileManager.default.removeItem(atPath: path)
        #expect(unsafe mkfifo(path, 0o600) == 0)
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
    }

    @Test func foreignVersionsAndFeatures() throws {
        let vault = try Vault()
        let bytes = try vault.keybag
        try vault.forge { $0[8] = 2 }
        #expect(failure { _ = try vault.open() } == .foreignVersion(version: 2))
        try vault.writeKeybag(bytes)
        try vault.forge { $0[24] = 8 }
        #expect(failure { _ = try vault.open() } == .foreignFeature)
        try vault.writeKeybag(bytes)
        // The feature says previous keys, and there are none.
        try vault.forge { $0[24] = 1 }
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
        try vault.writeKeybag(bytes)
        try vault.forge { $0[20] = 1 }
        #expect(failure { _ = try vault.open() } == .foreignFeature)
        _ = try vault.open(readOnly: true)
        // A compatible feature changes nothing for this version, but the bytes are no longer those that unlocking
        // proves.
        try vault.writeKeybag(bytes)
        try vault.forge { $0[16] = 1 }
        _ = try vault.open()
    }

    /// Even an attacker with the device key cannot make too expensive or too cheap a cost run.
    @Test(arguments: [
        (CostField.memory, UInt32(19_455)), (.memory, 4_194_305), (.memory, 0), (.memory, .max), (.passes, 0),
        (.passes, 65), (.passes, .max), (.lanes, 0), (.lanes, 17),
    ]) func costsOutOfBounds(field: CostField, value: UInt32) throws {
        let vault = try Vault()
        try vault.forge { bytes in
            unsafe withUnsafeBytes(of: value.littleEndian) {
                unsafe bytes.replaceSubrange(field.offset..<field.offset + 4, with: $0)
            }
        }
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
    }

    /// Where the passcode slot's cost lies: behind the head, settings, public key, device slot and the slot's own head.
    enum CostField {
        case memory, passes, lanes
        var offset: Int {
            let slot = 52 + (8 + 16) + (8 + 32) + (8 + 72) + 8
            return switch self {
            case .memory: slot + 16
            case .passes: slot + 20
            case .lanes: slot + 24
            }
        }
    }

    @Test func weakenedCostsAreFoundOutAtUnlock() throws {
        let vault = try Vault()
        try vault.forge { $0[CostField.passes.offset] = 1 }
        let keybag = try vault.open()
        #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        let error = failure { _ = try keybag.unlock(recoveryKey: vault.recoveryKey) }
        #expect(error?.isTampered == true)
    }

    @Test func anExchangedPublicKeyIsNamed() throws {
        let vault = try Vault()
        let other = try X25519.generate()
        let offset = 52 + (8 + 16) + 8
        try vault.forge { $0.replaceSubrange(offset..<offset + 32, with: other.publicKey) }
        let keybag = try vault.open()
        let errors = [
            failure { _ = try keybag.unlock(passcode: secret("passcode")) },
            failure { _ = try keybag.unlock(recoveryKey: vault.recoveryKey) },
            failure { try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode")) },
        ]
        for error in errors {
            guard case .tampered(let text) = error else {
                Issue.record("not refused: \(String(describing: error))")
                continue
            }
            #expect(text.contains("complete-unless-open"))
        }
    }

    /// A keybag of another vault, with its device key, replaces this one.
    @Test func anotherVaultsKeybag() throws {
        let vault = try Vault()
        let other = try Vault()
        try vault.writeKeybag(other.keybag)
        #expect(failure { _ = try vault.open() } == .deviceKeyMismatch)
    }

    /// An attacker who has the device key has made a device slot for other keys.
    @Test func anExchangedDeviceSlot() throws {
        let vault = try Vault()
        let device = try DeviceKeyFile.load(path: Path(vault.folder.deviceKeyPath))
        let slot = try DeviceSlotKeys.wrap(Bundle.generated(), device)
        let offset = 52 + (8 + 16) + (8 + 32) + 8
        try vault.forge { $0.replaceSubrange(offset..<offset + 72, with: slot) }
        let keybag = try vault.open()
        #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) }?.isTampered == true)
    }

    /// Both MACs are valid, and the two ways lead to different keys: the keybag is refused before any key is used.
    @Test(arguments: [(128, "volume keys"), (96, "keys of class none")])
    func slotsThatDisagree(_ key: (offset: Int, name: String)) throws {
        let vault = try Vault()
        let device = try DeviceKeyFile.load(path: Path(vault.folder.deviceKeyPath))
        let keybag = try vault.open()
        let sealed = keybag.sealed.withLock { $0 }
        let opened = try keybag.openSlot(of: sealed, Credential(.passcode, reading: secret("passcode")))
        let others = Bundle(try secret(flipping(key.offset, in: opened.bundle.bytes.exposed)))
        var file = sealed.file
        file.deviceSlot = try DeviceSlotKeys.wrap(others, device)
        try vault.writeKeybag(SealedKeybag(sealing: file, opened.bundle, device).bytes)
        try vault.forgetKeybags()
        let again = try vault.open()
        #expect(
            failure { _ = try again.unlock(passcode: secret("passcode")) }
                == .tampered(reason: "its device slot and its passcode slot hold different \(key.name)"))
    }

    /// Slots of later versions are kept, whatever is changed around them.
    @Test func unknownSlotsAreKept() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let opened = try keybag.openSlot(
            of: keybag.sealed.withLock { $0 }, Credential(.passcode, reading: secret("passcode")))
        var file = keybag.file
        let slot = KeybagSlot.other(KeybagRecordType(rawValue: 200), value: [1, 2, 3])
        file.slots.append(slot)
        try vault.writeKeybag(SealedKeybag(sealing: file, opened.bundle, keybag.device).bytes)
        try vault.forgetKeybags()
        let again = try vault.open()
        #expect(again.file.slots.last == slot)
        try again.changePasscode(from: secret("passcode"), to: secret("new passcode"))
        #expect(try vault.open().file.slots.last == slot)
    }

    @Test func changesOnDiskMeanwhileStopAReplacement() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let bytes = flipping(200, in: try vault.keybag)
        try vault.writeKeybag(bytes)
        #expect(failure { try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode")) } != nil)
        #expect(try vault.keybag == bytes)
        _ = try keybag.unlock(passcode: secret("passcode"))
    }

    /// Also one that is whole: it may be the only one that the owner's new passcode opens.
    @Test func aKeybagOfAnotherProgramStays() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        try vault.open().changePasscode(from: secret("passcode"), to: secret("another passcode"))
        let bytes = try vault.keybag
        let error = failure { try keybag.changePasscode(from: secret("passcode"), to: secret("a third passcode")) }
        #expect(error.map { if case .olderKeybag(_, false) = $0 { true } else { false } } ?? false)
        #expect(try vault.keybag == bytes)
        // A machine that does not remember it.
        try vault.forgetKeybags()
        let other = failure { try keybag.changePasscode(from: secret("passcode"), to: secret("a third passcode")) }
        #expect(other == .tampered(reason: "it was changed on disk while it was open"))
        #expect(try vault.keybag == bytes)
        _ = try vault.open().unlock(passcode: secret("another passcode"))
    }
}
