import Crypto
import Format
import Posix
import TestSecrets
import Testing

@testable import Keybag

/// A vault that the device key alone opens, until it gets a passcode.
@Suite struct NoPasscodeTests {
    @Test func untilItGetsOne() throws {
        let folder = try Folder()
        let volume = VolumeIdentifier(Random.bytes(16))
        let recoveryKey = try RecoveryKeyText.generate()
        let made = try OpenKeybag.create(
            in: folder.store(), deviceKey: DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume),
            first: .nothing(), recoveryKey: recoveryKey, cost: .minimum, settings: KeybagSettings(created: 1))
        let wanted = try made.unlock(.nothing()).exposed
        func open() throws -> OpenKeybag {
            try OpenKeybag.open(in: folder.store(), deviceKey: DeviceKeyFile.load(path: Path(folder.deviceKeyPath)))
        }
        let keybag = try open()
        #expect(made.hasNoPasscode && keybag.hasNoPasscode)
        #expect(try keybag.unlock(.nothing()).exposed == wanted)
        #expect(try keybag.unlock(recoveryKey: recoveryKey).exposed == wanted)
        #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .wrong(.passcode))

        try keybag.changePasscode(from: .nothing(), to: secret("passcode"))
        for keybag in [keybag, try open()] {
            #expect(!keybag.hasNoPasscode)
            #expect(failure { _ = try keybag.unlock(.nothing()) } == .wrong(.noPasscode))
            #expect(try keybag.unlock(passcode: secret("passcode")).exposed == wanted)
            #expect(keybag.file.slots.compactMap { $0.head?.identifier } == [1, 2])
        }
    }

    /// Another device key does not open it, and a vault with a passcode does not open without one.
    @Test func notWithAnotherDeviceKeyOrPasscode() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        #expect(!keybag.hasNoPasscode)
        #expect(failure { _ = try keybag.unlock(.nothing()) } == .wrong(.noPasscode))
        #expect(
            failure { try keybag.changePasscode(from: .nothing(), to: secret("new passcode")) } == .wrong(.noPasscode))
        // It does not become the last way in unnoticed.
        let open = try keybag.addSlot(NewSlot(.nothing()), opening: Credential(.passcode, reading: secret("passcode")))
        #expect(keybag.hasNoPasscode)
        try keybag.removeSlot(open, opening: .nothing())
        #expect(!keybag.hasNoPasscode)
    }
}
