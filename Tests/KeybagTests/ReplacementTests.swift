import Crypto
import Format
import Posix
import TestSecrets
import TestStores
import Testing

@testable import Keybag

/// A keybag replaces another completely or not at all; one of them is always there.
@Suite struct ReplacementTests {
    /// Each change to the store fails in turn, before, in the middle of or after its effect. The vault opens with the
    /// passcode that the call's outcome says.
    @Test(arguments: [FaultPlan.Effect.none, .half, .whole], [false, true])
    func interruptedAtEachStep(effect: FaultPlan.Effect, lasting: Bool) throws {
        var failures = 0
        for step in 1... {
            let vault = try Vault()
            let faults = FaultInjectingStore(try vault.folder.store())
            let keybag = try vault.open(faults)
            faults.faults.fail(nil, nth: step, with: .EIO, effect: effect, lasts: lasting)
            let error = failure { try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode")) }
            let injected = faults.faults.injected
            faults.faults.clear()
            failures += error == nil ? 0 : 1

            let again = try vault.open()
            let isNew = again.file.generation == 2
            _ = try again.unlock(passcode: secret(isNew ? "new passcode" : "passcode"))
            if error == nil { #expect(isNew, "step \(step) said that it was done") }
            // On a disk that goes on failing the old keybag cannot be put back.
            if error != nil && !lasting { #expect(!isNew, "step \(step) said that it failed") }
            #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"], "step \(step) left something")
            if injected == 0 { break }
        }
        #expect(failures >= 6)
    }

    /// A full disk refuses calls that take space, a failing one any call: the caller gets an error, and the old
    /// passcode stays.
    @Test(arguments: [Posix.Errno.ENOSPC, .EDQUOT, .EIO], [false, true])
    func refusedAtEachCall(errno: Posix.Errno, lasting: Bool) throws {
        var failures = 0
        for step in 1... {
            let vault = try Vault()
            let faults = FaultInjectingStore(try vault.folder.store())
            let keybag = try vault.open(faults)
            faults.faults.fail(
                errno == .EIO ? .all : .growth, nth: step, with: errno, then: lasting && errno != .EIO ? .growth : nil)
            let error = failure { try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode")) }
            let injected = faults.faults.injected
            faults.faults.clear()
            if let error {
                failures += 1
                guard case .io(errno, _) = error else {
                    Issue.record("step \(step): \(error)")
                    continue
                }
            }
            let isNew = try vault.open().file.generation == 2
            _ = try vault.open().unlock(passcode: secret(isNew ? "new passcode" : "passcode"))
            #expect(isNew == (error == nil) || (lasting && error != nil), "step \(step)")
            if injected == 0 { break }
        }
        #expect(failures >= 3)
    }

    /// As a power loss leaves it: the new keybag is missing, or torn.
    @Test func thePreviousOneIsPutBack() throws {
        let vault = try Vault()
        let good = try vault.keybag
        for broken in [nil, [], Array(good.prefix(100)), flipping(300, in: good)] as [[UInt8]?] {
            try vault.folder.write(good, to: "lk.keybag.old")
            if let broken { try vault.writeKeybag(broken) } else { try vault.folder.remove("lk.keybag") }
            let seen = try vault.folder.files
            _ = try vault.open(readOnly: true)
            #expect(try vault.folder.files == seen)
            let keybag = try vault.open()
            _ = try keybag.unlock(passcode: secret("passcode"))
            #expect(try vault.folder.files == ["lk.keybag": good])
        }
    }

    @Test func aBadPreviousOneIsNoHelp() throws {
        let vault = try Vault()
        let good = try vault.keybag
        try vault.folder.write(flipping(300, in: good), to: "lk.keybag.old")
        try vault.writeKeybag(Array(good.prefix(100)))
        let seen = try vault.folder.files
        #expect(failure { _ = try vault.open() }?.isDamaged == true)
        #expect(try vault.folder.files == seen)
        try vault.folder.remove("lk.keybag")
        #expect(failure { _ = try vault.open() } == .notAVault)
    }

    /// A keybag of a later version is not taken for a damaged one.
    @Test func aLaterVersionIsNotPutBack() throws {
        let vault = try Vault()
        try vault.folder.write(vault.keybag, to: "lk.keybag.old")
        try vault.forge { $0[8] = 2 }
        let seen = try vault.folder.files
        #expect(failure { _ = try vault.open() } == .foreignVersion(version: 2))
        #expect(try vault.folder.files == seen)
    }

    /// The store cannot be read at the moment: that is no reason to go back to an old passcode.
    @Test func anUnreadableKeybagIsNotPutBack() throws {
        let vault = try Vault()
        try vault.folder.write(vault.keybag, to: "lk.keybag.old")
        let seen = try vault.folder.files
        let faults = FaultInjectingStore(try vault.folder.store())
        faults.faults.fail(.read, with: .EIO)
        #expect(failure { _ = try vault.open(faults) } == .io(.EIO, doing: "reading lk.keybag"))
        #expect(try vault.folder.files == seen)
    }

    @Test func withoutHardLinks() throws {
        let vault = try Vault()
        let faults = FaultInjectingStore(try vault.folder.store())
        let keybag = try vault.open(faults)
        faults.faults.fail(.link, with: .EPERM)
        try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode"))
        #expect(faults.faults.injected == 1)
        _ = try vault.open().unlock(passcode: secret("new passcode"))
    }

    @Test func withoutNoReplace() throws {
        let folder = try Folder()
        let faults = FaultInjectingStore(try folder.store())
        faults.faults.fail(.rename, with: .EINVAL)
        let created = try OpenKeybag.create(
            in: faults, deviceKey: DeviceKey(generatedFor: .zero), passcode: secret("passcode"),
            recoveryKey: RecoveryKeyText.generate(), cost: .minimum, settings: KeybagSettings(created: 1))
        _ = try created.unlock(passcode: secret("passcode"))
        #expect(try folder.files.keys.sorted() == ["lk.keybag"])
    }

    @Test func recoveryInterruptedAtEachStep() throws {
        for step in 1... {
            let vault = try Vault()
            let faults = FaultInjectingStore(try vault.folder.store())
            let path = vault.folder.path + "/new.key"
            faults.faults.fail(nil, nth: step, with: .EIO, lasts: true)
            func recover() throws {
                _ = try OpenKeybag.recover(
                    in: faults, by: Credential(recoveryKey: vault.recoveryKey),
                    newDeviceKey: DeviceKeyFile.loadOrCreate(path: path, volume: vault.volume),
                    newPasscode: secret("new passcode"), cost: .minimum)
            }
            let error = failure(recover)
            let injected = faults.faults.injected
            faults.faults.clear()
            if error != nil { try recover() }
            let keybag = try OpenKeybag.open(in: faults, deviceKey: DeviceKeyFile.load(path: Path(path)))
            _ = try keybag.unlock(passcode: secret("new passcode"))
            if injected == 0 { break }
        }
    }

    @Test func creationInterruptedAtEachStep() throws {
        for step in 1... {
            let folder = try Folder()
            let faults = FaultInjectingStore(try folder.store())
            faults.faults.fail(nil, nth: step, with: .ENOSPC, lasts: true)
            let error = failure {
                _ = try OpenKeybag.create(
                    in: faults, deviceKey: DeviceKey(generatedFor: .zero), passcode: secret("passcode"),
                    recoveryKey: RecoveryKeyText.generate(), cost: .minimum, settings: KeybagSettings(created: 1))
            }
            guard let error else {
                #expect(step > 3)
                break
            }
            guard case .io(.ENOSPC, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
    }
}
