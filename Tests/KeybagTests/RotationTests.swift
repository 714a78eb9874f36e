import Crypto
import Format
import Posix
import Store
import TestSecrets
import TestStores
import Testing

@testable import Keybag

/// New class keys while files are still wrapped for the old ones.
@Suite struct RotationTests {
    private static let file = FileIdentifier([UInt8](repeating: 7, count: 16))

    private func credential(_ text: String = "passcode") throws -> Credential {
        try Credential(.passcode, reading: secret(text))
    }

    /// The slots that are expected to be dropped: all but slot 1, the passcode.
    private func begin(
        _ keybag: OpenKeybag, _ passcode: String = "passcode", recoveryKey: borrowing Secret? = nil,
        dropping: Set<UInt32> = [2]
    ) throws {
        try keybag.beginRotation(opening: credential(passcode), recoveryKey: recoveryKey, dropping: dropping)
    }

    /// Wraps of one file for all classes.
    private func wraps(_ ring: KeyRing, of key: borrowing Secret) throws -> [FileKeyWrap] {
        var wraps: [FileKeyWrap] = []
        for each in ProtectionClass.allCases { wraps.append(try ring.wrap(key, file: Self.file, class: each)) }
        return wraps
    }

    private func opens(_ wraps: [FileKeyWrap], _ ring: KeyRing, _ key: borrowing Secret) throws -> [Bool] {
        var opens: [Bool] = []
        for (wrap, each) in zip(wraps, ProtectionClass.allCases) {
            opens.append((try? ring.unwrap(wrap, file: Self.file, class: each))?.equals(key) ?? false)
        }
        return opens
    }

    private static let all = [true, true, true, true]
    private static let none = [false, false, false, false]

    private func unlocked(_ keybag: OpenKeybag, _ passcode: String = "passcode") throws -> OpenKeybag {
        let isTaken = keybag.ring.install(try keybag.unlock(passcode: secret(passcode)))
        #expect(isTaken)
        return keybag
    }

    @Test func bothSetsOpenAndTheNewOneWraps() throws {
        let vault = try Vault()
        let key = try Secret(random: 32)
        let keybag = try unlocked(vault.open())
        let old = try wraps(keybag.ring, of: key)
        let before = try vault.keybag
        let new = try Secret(random: 32)
        try begin(keybag, recoveryKey: .some(new.copy()))
        let again = try unlocked(vault.open())
        for ring in [keybag.ring, again.ring] {
            #expect(try opens(old, ring, key) == Self.all && ring.canRenew)
            let own = try wraps(ring, of: key)
            #expect(try opens(own, again.ring, key) == Self.all)
            for (wrap, each) in zip(old, ProtectionClass.allCases) {
                let renewed = try #require(try ring.renewed(wrap, file: Self.file, class: each))
                #expect(try ring.renewed(renewed, file: Self.file, class: each) == nil)
            }
        }
        #expect(again.isRotating && again.file.features.incompatible == 7)
        #expect(again.file.slots.map(\.credentialKind) == [.passcode, .recoveryKey])
        _ = try again.unlock(recoveryKey: new.copy())
        #expect(failure { _ = try again.unlock(recoveryKey: vault.recoveryKey) } == .wrong(.recoveryKey))

        let fresh = try wraps(again.ring, of: key)
        #expect(try again.finishRotation())
        let last = try unlocked(vault.open())
        for ring in [again.ring, last.ring] {
            #expect(try opens(fresh, ring, key) == Self.all)
            #expect(try opens(old, ring, key) == Self.none)
        }
        #expect(!last.isRotating && last.file.features.incompatible == 6 && last.file.generation == 3)
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])

        // The earlier keybag, with all that opened it, opens nothing that was wrapped since, where it opens at all.
        try vault.writeKeybag(before)
        try vault.forgetKeybags()
        #expect(try opens(fresh, try unlocked(vault.open()).ring, key) == Self.none)
    }

    /// Locked classes stay locked, and files that are created meanwhile get the new keys.
    @Test func beginsWhileLocked() throws {
        let vault = try Vault()
        let key = try Secret(random: 32)
        let keybag = try unlocked(vault.open())
        let old = try wraps(keybag.ring, of: key)
        let stale = try keybag.unlock(passcode: secret("passcode"))
        keybag.ring.wipe([.complete, .completeUnlessOpen])
        try begin(keybag)
        #expect(try opens(old, keybag.ring, key) == [false, false, true, true])
        #expect(!keybag.ring.canRenew)
        #expect(try !keybag.finishRotation())
        // Unlocked before the rotation, and not installed yet.
        let isTaken = keybag.ring.install(stale)
        #expect(!isTaken)
        let made = try keybag.ring.wrap(key, file: Self.file, class: .completeUnlessOpen)
        // Class D opens before the first unlock.
        let closed = try vault.open()
        #expect(try opens(old, closed.ring, key) == [false, false, false, true])
        _ = try unlocked(closed)
        #expect(try opens(old, closed.ring, key) == Self.all)
        #expect(try closed.ring.renewed(made, file: Self.file, class: .completeUnlessOpen) == nil)
        // Both sets of keys are wiped, and the key that authenticates the keybag.
        closed.ring.wipe([.complete, .completeUnlessOpen])
        #expect(try opens(old, closed.ring, key) == [false, false, true, true])
        let left = ProtectionClass.allCases.map { unsafe closed.ring.previous.has($0) }
        let hasAuthenticator = unsafe closed.ring.unlockMACKey != nil
        #expect(left == [false, false, true, true] && !hasAuthenticator)
        #expect(try !closed.finishRotation() && closed.isRotating)
    }

    @Test func refusalsChangeNothing() throws {
        let vault = try Vault()
        let keybag = try unlocked(vault.open())
        let before = try vault.folder.files
        #expect(failure { try begin(keybag, "wrong") } == .wrong(.passcode))
        #expect(failure { try begin(keybag, dropping: []) } == .changedMeanwhile)
        #expect(failure { try begin(keybag, dropping: [1, 2]) } == .changedMeanwhile)
        #expect(try vault.folder.files == before)
        try begin(keybag)
        let rotating = try vault.folder.files
        #expect(failure { try begin(keybag, dropping: []) } == .changedMeanwhile)
        #expect(try vault.folder.files == rotating)
    }

    @Test func beginsWithAKeyFile() throws {
        let vault = try Vault()
        let keybag = try unlocked(vault.open())
        let text = try KeyFile.generate()
        _ = try keybag.addSlot(NewSlot(Credential(.keyFile, reading: text)), opening: credential())
        let opening = try Credential(.keyFile, reading: text)
        #expect(keybag.file.lostSlots(opening: 3) == [1, 2])
        try keybag.beginRotation(opening: opening, recoveryKey: nil, dropping: [1, 2])
        let again = try vault.open()
        #expect(again.file.slots.map { $0.head?.identifier } == [3])
        let isTaken = again.ring.install(try again.unlock(opening))
        #expect(isTaken && again.ring.canRenew)
        #expect(failure { _ = try again.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        #expect(try again.finishRotation())
    }

    /// The keybag is changed, and opened in other ways, before the rotation is finished.
    @Test func othersKeepIt() throws {
        let vault = try Vault()
        let key = try Secret(random: 32)
        let keybag = try unlocked(vault.open())
        let old = try wraps(keybag.ring, of: key)
        let escrow = try X25519.generate()
        _ = try keybag.addSlot(NewSlot(escrow: escrow.publicKey), opening: credential())
        let early = try keybag.backup(passphrase: secret("five random words"), cost: .minimum, opening: credential())
        let recovery = try Secret(random: 32)
        try begin(keybag, recoveryKey: .some(recovery.copy()))
        #expect(keybag.file.slots.map(\.credentialKind) == [.passcode, .escrowKey, .recoveryKey])
        try keybag.changePasscode(from: secret("passcode"), to: secret("another passcode"))
        let backup = try keybag.backup(
            passphrase: secret("five random words"), cost: .minimum, opening: credential("another passcode"))
        let changed = try unlocked(vault.open(), "another passcode")
        #expect(try opens(old, changed.ring, key) == Self.all)
        let text = try EscrowKey.encode(escrow.privateKey)
        _ = try changed.unlock(Credential(.escrowKey, reading: text))

        // On a machine that has never seen it: class D opens before the first unlock.
        let path = vault.folder.path + "/new.key"
        let recovered = try OpenKeybag.recover(
            in: vault.folder.store(), by: Credential(recoveryKey: recovery),
            newDeviceKey: DeviceKeyFile.loadOrCreate(path: path, volume: vault.volume),
            newPasscode: secret("third passcode"),
            cost: .minimum)
        #expect(recovered.isRotating)
        #expect(try opens(old, recovered.ring, key) == [false, false, false, true])
        #expect(try opens(old, try unlocked(recovered, "third passcode").ring, key) == Self.all)

        // From the backup, with the keybag gone; the earlier keybag has other keys.
        let opened = try OpenedBackup(early, passphrase: secret("five random words"))
        #expect(failure { try OpenKeybag.check(opened, for: vault.folder.store()) } == .otherKeys)
        try vault.folder.remove("lk.keybag")
        let restored = try OpenKeybag.restore(
            OpenedBackup(backup, passphrase: secret("five random words")), in: vault.folder.store(),
            newDeviceKey: DeviceKeyFile.load(path: Path(path)), newPasscode: secret("fourth passcode"), cost: .minimum)
        #expect(try opens(old, restored.ring, key) == [false, false, false, true])
        #expect(try opens(old, try unlocked(restored, "fourth passcode").ring, key) == Self.all)
        #expect(try restored.finishRotation())
        #expect(try opens(old, restored.ring, key) == Self.none)
        #expect(failure { try OpenKeybag.check(opened, for: vault.folder.store()) } == .otherKeys)
    }

    /// The earlier keybag is durably gone when a rotation has begun, and when it has ended: no power loss brings back
    /// what the old recovery key opens.
    @Test func theOneOfBeforeIsGoneDurably() throws {
        let vault = try Vault()
        let calls = StoreCalls([.unlink, .synchronize])
        let keybag = try unlocked(vault.open(InterceptingStore(vault.folder.store(), hook: calls)))
        try begin(keybag)
        #expect(calls.made.suffix(2) == [.unlink, .synchronize])
        _ = try unlocked(keybag)
        calls.forget()
        #expect(try keybag.finishRotation())
        #expect(calls.made.suffix(2) == [.unlink, .synchronize])
    }

    /// A power loss has brought the earlier keybag back beside the new one: a program that opened the earlier one must
    /// not let it replace the new one.
    @Test func anOldRecoveryKeyPutsNothingBack() throws {
        let vault = try Vault()
        let before = try vault.keybag
        try begin(vault.open())
        let after = try vault.keybag
        try vault.folder.write(before, to: "lk.keybag.old")
        let path = vault.folder.path + "/new.key"
        #expect(
            failure {
                _ = try OpenKeybag.recover(
                    in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey),
                    newDeviceKey: DeviceKeyFile.loadOrCreate(path: path, volume: vault.volume),
                    newPasscode: secret("new passcode"), cost: .minimum)
            } == .wrong(.recoveryKey))
        #expect(try vault.keybag == after)
        _ = try vault.open()
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
    }

    enum Moment: CaseIterable {
        case begin, lastingFromBegin, end, lastingFromEnd
    }

    /// Each change to the store fails in turn, once or from then on, at the beginning and at the end. The keybag that
    /// is found then opens, and has the keys of all files that may exist.
    @Test(arguments: [FaultPlan.Effect.none, .half, .whole], Moment.allCases)
    func interruptedAtEachStep(effect: FaultPlan.Effect, moment: Moment) throws {
        let lasting = moment == .lastingFromBegin || moment == .lastingFromEnd
        let isEnd = moment == .end || moment == .lastingFromEnd
        var failures = 0
        for step in 1... {
            // Without a passcode, whose derivation would take longer than everything else.
            let folder = try Folder()
            let volume = VolumeIdentifier(Random.bytes(16))
            func open(_ store: any Store) throws -> OpenKeybag {
                let keybag = try OpenKeybag.open(
                    in: store, deviceKey: DeviceKeyFile.load(path: Path(folder.deviceKeyPath), counting: false))
                let isTaken = keybag.ring.install(try keybag.unlock(.nothing()))
                #expect(isTaken)
                return keybag
            }
            _ = try OpenKeybag.create(
                in: folder.store(), deviceKey: DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume),
                first: .nothing(), recoveryKey: Secret(random: 32), cost: .minimum,
                settings: KeybagSettings(created: 0))
            let key = try Secret(random: 32)
            let faults = FaultInjectingStore(try folder.store())
            let keybag = try open(faults)
            let old = try wraps(keybag.ring, of: key)
            func begin() throws {
                try keybag.beginRotation(opening: .nothing(), recoveryKey: nil, dropping: [2])
            }
            if isEnd { try begin() }
            faults.faults.fail(nil, nth: step, with: .EIO, effect: effect, lasts: lasting)
            let error = failure {
                if isEnd { #expect(try keybag.finishRotation()) } else { try begin() }
            }
            // As the running program goes on.
            let made = try wraps(keybag.ring, of: key)
            let injected = faults.faults.injected
            faults.faults.clear()
            failures += error == nil ? 0 : 1

            let again = try open(folder.store())
            if error == nil { #expect(again.isRotating != isEnd) }
            #expect(try opens(made, again.ring, key) == Self.all, "step \(step)")
            if !isEnd || again.isRotating { #expect(try opens(old, again.ring, key) == Self.all, "step \(step)") }
            #expect(try folder.files.keys.sorted() == ["lk.keybag"], "step \(step)")
            if injected == 0 { break }
        }
        #expect(failures >= 5)
    }
}
