import Crypto
import Failure
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Format
@testable import Keybag

/// Slots that a security key opens.
@Suite struct SecurityKeySlotTests {
    private func passcode() throws -> Credential { try Credential(.passcode, reading: secret("passcode")) }

    private func entry(
        _ demands: SecurityKeySlot.Demands = [.verification, .presence], count: Int = 64
    ) throws -> SecurityKeyEntry {
        try #require(
            SecurityKeyEntry(demands: demands, identifier: Random.bytes(count), salt: Random.bytes(32)))
    }

    private func credential(_ derived: borrowing Secret) throws -> Credential {
        try Credential(.securityKey, reading: SecurityKeySecret.encode(derived))
    }

    @Test(arguments: [1, 64, 1024]) func opensTheSameKeys(count: Int) throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let wanted = try keybag.unlock(passcode: secret("passcode")).exposed
        let derived = try Secret(random: 32)
        let entry = try entry(count: count)
        let new = try NewSlot(securityKey: entry, secret: SecurityKeySecret.encode(derived))
        let label = try #require(SlotLabel("blue"))
        #expect(try keybag.addSlot(new, label: label, opening: passcode()) == 3)
        for keybag in [keybag, try vault.open()] {
            #expect(try keybag.unlock(credential(derived)).exposed == wanted)
            #expect(try keybag.slot(openedBy: credential(derived)) == 3)
            #expect(keybag.file.slots[2].label == label)
            #expect(keybag.file.slots[2].credentialKind == .securityKey)
            #expect(keybag.file.securityKeys.map(\.entry) == [entry])
            #expect(failure { _ = try keybag.unlock(credential(Secret(random: 32))) } == .wrong(.securityKey))
            // The same bytes as another kind of secret open nothing.
            #expect(failure { _ = try keybag.unlock(recoveryKey: derived) } == .wrong(.recoveryKey))
        }
        // The slot stays when the passcode changes, and authorizes changes of the keybag.
        try keybag.changePasscode(from: secret("passcode"), to: secret("another passcode"), cost: .minimum)
        try keybag.removeSlot(1, opening: credential(derived))
        try keybag.removeSlot(2, opening: credential(derived))
        #expect(failure { try keybag.removeSlot(3, opening: credential(derived)) } == .lastSlot)
        #expect(try vault.open().unlock(credential(derived)).exposed == wanted)
    }

    /// With another device key, or another salt in the slot, it opens nothing.
    @Test func needsTheDeviceKey() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let derived = try Secret(random: 32)
        let new = try NewSlot(securityKey: entry(), secret: SecurityKeySecret.encode(derived))
        _ = try keybag.addSlot(new, opening: passcode())
        guard case .securityKey(let slot) = keybag.file.slots[2] else { throw Failure.notAVault }
        let other = try DeviceKey(generatedFor: vault.volume)
        let opened = try slot.open(derived, other) == nil
        #expect(opened)
        let path = vault.folder.path + "/new/device.key"
        let by = try Credential(recoveryKey: vault.recoveryKey)
        let recovered = try OpenKeybag.recover(
            in: vault.folder.store(), by: by,
            newDeviceKey: DeviceKeyFile.create(path: Path(path), volume: vault.volume),
            newPasscode: secret("new passcode"), cost: .minimum)
        #expect(recovered.file.securityKeys.isEmpty && recovered.file.slots.count == 2)
        #expect(failure { _ = try recovered.unlock(credential(derived)) } == .wrong(.securityKey))
    }

    @Test func whatIsNoSlot() throws {
        for (count, salt) in [(0, 32), (1025, 32), (64, 31), (64, 33)] {
            #expect(
                SecurityKeyEntry(
                    demands: .presence, identifier: [UInt8](repeating: 1, count: count),
                    salt: [UInt8](repeating: 2, count: salt)) == nil)
        }
        #expect(
            SecurityKeyEntry(demands: .init(rawValue: 4), identifier: [1], salt: [UInt8](repeating: 2, count: 32))
                == nil)
        for text in ["", String(repeating: "0", count: 63), String(repeating: "g", count: 64)] {
            #expect(failure { _ = try Credential(.securityKey, reading: secret(text)) } == .wrong(.securityKey))
        }
        // Without what the security key needs to derive the secret again, the slot is no way in.
        let keybag = try Vault().open()
        let new = NewSlot(try credential(Secret(random: 32)))
        #expect(failure { _ = try keybag.addSlot(new, opening: passcode()) } == .wrong(.securityKey))
    }

    /// Each byte of the fields before the wrap that may have certain values only.
    @Test func everyTruncationIsRefused() throws {
        let slot = SecurityKeySlot(
            SlotHead(identifier: 1, created: 2), demands: .presence, identifier: [7, 8, 9],
            salt: [UInt8](repeating: 3, count: 32), wrappedBundle: [UInt8](repeating: 4, count: 200), label: .empty)
        #expect(try SecurityKeySlot(decoding: slot.encoded) == slot)
        for count in 0..<slot.encoded.count {
            #expect(throws: FormatError.self) { _ = try SecurityKeySlot(decoding: Array(slot.encoded.prefix(count))) }
        }
    }
}
