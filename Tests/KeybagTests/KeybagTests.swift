import Crypto
import Failure
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Format
@testable import Keybag

@Suite struct KeybagTests {
    @Test func createdKeybagOpensAndUnlocks() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        #expect(keybag.volume == vault.volume)
        #expect(keybag.file.generation == 1)
        #expect(keybag.ring.available == [.none])
        #expect(keybag.ring.canCreate(.completeUnlessOpen) && !keybag.ring.canCreate(.complete))
        let byPasscode = try keybag.unlock(passcode: secret("passcode"))
        let byRecovery = try keybag.unlock(recoveryKey: vault.recoveryKey).exposed
        #expect(byPasscode.exposed == byRecovery)
        #expect(keybag.ring.available == [.none], "unlocking installs nothing by itself")
        keybag.ring.install(byPasscode)
        #expect(keybag.ring.available == ProtectionClass.allCases)
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
        #expect(try mode(of: vault.folder.path + "/vault/lk.keybag") == 0o600)
        #expect(try OpenKeybag.inspect(vault.folder.store()).volume == vault.volume)
    }

    @Test func aVaultIsNotMadeTwice() throws {
        let vault = try Vault()
        let before = try vault.folder.files
        let error = failure {
            _ = try OpenKeybag.create(
                in: vault.folder.store(), deviceKey: DeviceKey(generatedFor: vault.volume),
                passcode: secret("other passcode"),
                recoveryKey: RecoveryKeyText.generate(), cost: .minimum, settings: KeybagSettings(created: 1))
        }
        #expect(error == .alreadyAVault)
        #expect(try vault.folder.files == before)
        #expect(failure { _ = try OpenKeybag.inspect(Folder().store()) } == .notAVault)
    }

    @Test func aWrongPasscodeChangesNothing() throws {
        let vault = try Vault()
        let before = try vault.folder.files
        let keybag = try vault.open()
        for wrong in ["Passcode", "passcode ", "passcod", "p"] {
            #expect(failure { _ = try keybag.unlock(passcode: secret(wrong)) } == .wrong(.passcode))
            #expect(
                failure { try keybag.changePasscode(from: secret(wrong), to: secret("new passcode")) }
                    == .wrong(.passcode))
        }
        #expect(failure { _ = try keybag.unlock(recoveryKey: Secret(random: 32)) } == .wrong(.recoveryKey))
        #expect(try vault.folder.files == before)
        #expect(keybag.ring.available == [.none])
    }

    @Test(arguments: [0, 1025, 10_000]) func passcodesHaveBounds(count: Int) throws {
        let vault = try Vault()
        let before = try vault.folder.files
        let passcode = try Secret(count: count)
        let keybag = try vault.open()
        #expect(failure { _ = try keybag.unlock(passcode: passcode) } == .passcodeLength(bytes: count))
        #expect(
            failure { try keybag.changePasscode(from: secret("passcode"), to: passcode) }
                == .passcodeLength(bytes: count))
        let created = failure {
            _ = try OpenKeybag.create(
                in: Folder().store(), deviceKey: DeviceKey(generatedFor: vault.volume), passcode: passcode,
                recoveryKey: RecoveryKeyText.generate(), cost: .minimum, settings: KeybagSettings(created: 1))
        }
        #expect(created == .passcodeLength(bytes: count))
        #expect(try vault.folder.files == before)
    }

    /// One rule, whichever way a passcode is set; a refusal changes nothing.
    @Test(arguments: ["1234", "123456", "password1", "qwerty", "a", "abc"]) func aWeakPasscodeIsSetNowhere(
        text: String
    ) throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let weak = try secret(text)
        let by = try Credential(.passcode, reading: secret("passcode"))
        let bytes = try keybag.backup(passphrase: secret("five random words"), cost: .minimum, opening: by)
        let backup = try OpenedBackup(bytes, passphrase: secret("five random words"))
        let before = try vault.folder.files
        let ways: [() throws -> Void] = [
            { try keybag.changePasscode(from: secret("passcode"), to: weak) },
            { _ = try keybag.addSlot(NewSlot(Credential(.passcode, reading: weak)), opening: by) },
            { _ = try keybag.backup(passphrase: weak, cost: .minimum, opening: by) },
            {
                _ = try OpenKeybag.recover(
                    in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey),
                    newDeviceKey: DeviceKey(generatedFor: vault.volume), newPasscode: weak, cost: .minimum)
            },
            {
                _ = try OpenKeybag.restore(
                    backup, in: vault.folder.store(), newDeviceKey: DeviceKey(generatedFor: vault.volume),
                    newPasscode: weak, cost: .minimum)
            },
            {
                _ = try OpenKeybag.create(
                    in: Folder().store(), deviceKey: DeviceKey(generatedFor: vault.volume), passcode: weak,
                    recoveryKey: vault.recoveryKey, cost: .minimum, settings: KeybagSettings(created: 1))
            },
        ]
        for way in ways { #expect(failure(way) == .weakPasscode) }
        #expect(try vault.folder.files == before)
        try keybag.changePasscode(from: secret("passcode"), to: weak, allowingWeak: true)
    }

    @Test(arguments: [1, 1024]) func passcodesOfAnyBytes(count: Int) throws {
        let vault = try Vault()
        let passcode = try Secret(random: count)
        let keybag = try vault.open()
        let before = try keybag.unlock(passcode: secret("passcode")).exposed
        try keybag.changePasscode(from: secret("passcode"), to: passcode, allowingWeak: count == 1)
        let again = try vault.open()
        #expect(try again.unlock(passcode: passcode).exposed == before)
    }

    @Test func aKeybagThatIsOnlyReadIsNotChanged() throws {
        let vault = try Vault()
        let before = try vault.folder.files
        let keybag = try vault.open(readOnly: true)
        #expect(
            failure { try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode")) }
                == .io(.EROFS, doing: "replacing lk.keybag"))
        #expect(try vault.folder.files == before)
    }

    @Test func changingThePasscodeKeepsTheKeys() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let before = try keybag.unlock(passcode: secret("passcode")).exposed
        let bytes = try vault.keybag
        let cost = Argon2Cost(memoryKiB: 20_480, passes: 3, lanes: 2)
        try keybag.changePasscode(from: secret("passcode"), to: secret("new passcode"), cost: cost)
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
        #expect(try vault.keybag != bytes)

        for keybag in [keybag, try vault.open()] {
            #expect(keybag.file.generation == 2)
            #expect(try keybag.unlock(passcode: secret("new passcode")).exposed == before)
            #expect(failure { _ = try keybag.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
            #expect(try keybag.unlock(recoveryKey: vault.recoveryKey).exposed == before)
            guard case .passcode(let slot) = keybag.file.slots[0] else { throw Failure.notAVault }
            #expect(slot.cost == cost)
        }
        #expect(
            failure {
                try keybag.changePasscode(
                    from: secret("new passcode"), to: secret("x"), cost: Argon2Cost(memoryKiB: 8, passes: 1, lanes: 1))
            } == .cost(Argon2Cost(memoryKiB: 8, passes: 1, lanes: 1)))
    }

    @Test func recoveryNeedsNoDeviceKey() throws {
        let vault = try Vault()
        let before = try vault.open().unlock(passcode: secret("passcode")).exposed
        let files = try vault.folder.files
        #expect(
            failure {
                _ = try OpenKeybag.recover(
                    in: vault.folder.store(), by: Credential(recoveryKey: Secret(random: 32)),
                    newDeviceKey: DeviceKey(generatedFor: vault.volume), newPasscode: secret("new passcode"),
                    cost: .minimum)
            } == .wrong(.recoveryKey))
        #expect(
            failure {
                _ = try OpenKeybag.recover(
                    in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey),
                    newDeviceKey: DeviceKey(generatedFor: .zero), newPasscode: secret("new passcode"), cost: .minimum)
            } == .deviceKeyMismatch)
        #expect(try vault.folder.files == files)

        let path = vault.folder.path + "/new/device.key"
        let recovered = try OpenKeybag.recover(
            in: vault.folder.store(), by: Credential(recoveryKey: vault.recoveryKey),
            newDeviceKey: DeviceKeyFile.loadOrCreate(path: path, volume: vault.volume),
            newPasscode: secret("new passcode"),
            cost: .minimum)
        #expect(try recovered.unlock(passcode: secret("new passcode")).exposed == before)
        #expect(failure { _ = try recovered.unlock(passcode: secret("passcode")) } == .wrong(.passcode))
        let created = try #require(recovered.file.slots.first?.head?.created)
        #expect(failure { _ = try vault.open() } == .recoveredElsewhere(created: created))

        let again = try OpenKeybag.open(in: vault.folder.store(), deviceKey: DeviceKeyFile.load(path: Path(path)))
        #expect(try again.unlock(passcode: secret("new passcode")).exposed == before)
        #expect(try again.unlock(recoveryKey: vault.recoveryKey).exposed == before)
        #expect(again.file.generation == 2)
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
    }

    /// An attacker with all keys makes both MACs valid: which slot a number means would be ambiguous.
    @Test func twoSlotsOfOneNumberAreRefused() throws {
        let vault = try Vault()
        let device = try DeviceKeyFile.load(path: Path(vault.folder.deviceKeyPath))
        let whole = try SealedKeybag(decoding: vault.keybag)
        let bundle = try whole.openWithoutDevice(Credential(recoveryKey: vault.recoveryKey))
        let number = try #require(whole.file.slots[0].head?.identifier)
        for (identifier, isRefused) in [(number, true), (number + 7, false)] {
            var file = whole.file
            // A slot of an unknown kind: its number counts as well.
            for type in [KeybagRecordType.passcodeSlot, KeybagRecordType(rawValue: 100)] {
                var value = file.slots[0].encoded
                value.replaceSubrange(0..<4, with: (0..<4).map { UInt8(truncatingIfNeeded: identifier >> (8 * $0)) })
                file.slots = [whole.file.slots[0], try KeybagSlot(type: type, value: value)]
                let bytes = try sealed(file, bundle, device)
                try vault.writeKeybag(bytes)
                try vault.forgetKeybags()
                let error = failure { _ = try vault.open() }
                #expect((error?.isDamaged ?? false) == isRefused, "\(identifier), \(type): \(error as Any)")
                guard !isRefused else { continue }
                #expect(try vault.open().unlock(passcode: secret("passcode")).exposed.count == 4)
            }
        }
    }

    private func sealed(
        _ file: KeybagFile, _ bundle: borrowing Keybag.Bundle, _ device: borrowing DeviceKey
    ) throws -> [UInt8] {
        var bytes = try file.encodeWithoutTags()
        bytes += try MessageAuthenticator(key: bundle.unlockMACKey()).tag(of: bytes)
        return bytes + (try device.keybagAuthenticator()).tag(of: bytes)
    }

    @Test func aReadOnlyMountWritesNothing() throws {
        let vault = try Vault()
        try vault.folder.write(vault.keybag, to: "lk.keybag.old")
        try vault.folder.write([1, 2], to: "lk.keybag.new")
        let before = try vault.folder.files
        _ = try vault.open(readOnly: true)
        #expect(try vault.folder.files == before)
        _ = try vault.open()
        #expect(try vault.folder.files.keys.sorted() == ["lk.keybag"])
    }
}

func mode(of path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
}
