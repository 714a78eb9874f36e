import Administration
import Control
import Crypto
import Failure
import Keybag
import Posix
import Testing

/// What a program besides latchkey can do with vaults that are not mounted.
@Suite struct VaultTests {
    let folders: Folders
    let passcode = Opener(.passcode)

    init() throws { folders = try Folders() }

    @Test func `a vault is made whole, and its slots are added, used and removed`() throws {
        let made = try folders.make(recoveryKey: RecoveryKeyText.generate())
        #expect(made.deviceKeyPath == Path(folders.deviceKey) && made.proof != nil)
        #expect(try folders.names == ["lk.dir", "lk.keybag", "lk.lock"])
        let slots = try folders.slots()
        #expect(slots.list().map(\.kind) == ["passcode", "recovery-key"] && !slots.hasNoPasscode)
        #expect(try slots.test(passcode, secret("passcode")) == slots.list()[0].id)

        let key = try KeyFile.generate()
        let new = NewSecret(.keyFile, try key.copy())
        let added = try slots.add(new, name: "stick", opening: passcode, secret("passcode"))
        #expect(try slots.test(Opener(.keyFile), key) == added)
        try slots.remove(added, opening: passcode, secret("passcode"))
        #expect(throws: Failure.wrongKey(kind: .keyFile)) { try slots.test(Opener(.keyFile), key) }
        #expect(throws: Failure.noSuchSlot(slot: added)) {
            try slots.remove(added, opening: passcode, secret("passcode"))
        }

        try slots.changePasscode(passcode, from: secret("passcode"), to: secret("another"), allowingWeak: true)
        #expect(throws: Failure.wrongPasscode()) { try slots.test(passcode, secret("passcode")) }
        #expect(throws: Failure.wrongPasscode()) { try slots.test(passcode, secret("a wrong one")) }
        #expect(throws: Failure.vaultInUse) { try folders.slots() }
        #expect(try slots.test(passcode, secret("another")) == slots.list()[0].id)
    }

    @Test func `nothing is left of a vault whose recovery key went nowhere`() throws {
        struct Nowhere: Error {}
        #expect(throws: Nowhere.self) {
            try folders.make(recoveryKey: RecoveryKeyText.generate()) {
                #expect(try folders.names == ["lk.lock"])
                throw Nowhere()
            }
        }
        #expect(try folders.names == [])
        try folders.make(recoveryKey: RecoveryKeyText.generate())
    }

    @Test func `a folder that is used, and a device key that is there, stay as they are`() throws {
        try folders.write("of another vault", to: "device.key")
        #expect(throws: Failure.deviceKeyExists(path: Path(folders.deviceKey))) {
            try folders.make(recoveryKey: RecoveryKeyText.generate())
        }
        #expect(try folders.names == [])
        try folders.write("something", to: "vault/file")
        #expect(throws: Failure.notEmpty(path: Path(folders.vault))) { try FreshFolder(Path(folders.vault)) }
        #expect(throws: Failure.noKeybag(path: Path(folders.vault))) { try folders.slots() }
        #expect(throws: Failure.notAFolder(path: Path(folders.deviceKey))) { try FreshFolder(Path(folders.deviceKey)) }
        #expect(throws: Failure.secretFileExists(path: Path(folders.deviceKey))) {
            try NewSecretFile(Path(folders.deviceKey))
        }
    }

    @Test func `a vault whose device key is gone is recovered`() throws {
        let recoveryKey = try RecoveryKeyText.generate()
        try folders.make(recoveryKey: recoveryKey)
        let vault = try AbsolutePath(ofVault: Path(folders.vault))
        let other = folders.path + "/other.key"
        let wrong = try RecoveryKeyText.encode(RecoveryKeyText.generate())
        #expect(throws: Failure.wrongRecoveryKey) { _ = try VaultRecovery(of: vault, .recoveryKey, wrong) }
        do {
            let recovery = try VaultRecovery(of: vault, .recoveryKey, RecoveryKeyText.encode(recoveryKey))
            let plan = try recovery.deviceKey(nil, at: Path(other))
            #expect(plan.kind == .software)
            #expect(try recovery.run(plan, passcode: secret("another"), allowingWeak: true) == nil)
        }
        // The folder is locked while its slots are in use.
        let created = try UInt64(FolderSlots(vault, deviceKeyPath: Path(other)).list()[0].created)
        #expect(throws: Failure.recoveredElsewhere(created: created)) { try folders.slots() }
        let slots = try FolderSlots(vault, deviceKeyPath: Path(other))
        #expect(try slots.test(passcode, secret("another")) == slots.list()[0].id)
    }
}
