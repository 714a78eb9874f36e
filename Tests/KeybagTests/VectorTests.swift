import Crypto
import Failure
import Format
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Keybag

/// Files written by a program that knows only docs/FORMAT.md.
@Suite struct VectorTests {
    /// The vault of keybag.json in a folder.
    private func folder(_ vectors: Vectors, keybag: [UInt8]) throws -> Folder {
        let folder = try Folder()
        try folder.write(keybag, to: "lk.keybag")
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/latchkey", withIntermediateDirectories: true)
        try Data(vectors.bytes("deviceKeyFile")).write(to: URL(filePath: folder.deviceKeyPath))
        return folder
    }

    private func open(_ folder: Folder) throws -> OpenKeybag {
        try OpenKeybag.open(in: folder.store(), deviceKey: DeviceKeyFile.load(path: Path(folder.deviceKeyPath)))
    }

    @Test func opensAndUnlocks() throws {
        let vectors = try Vectors("keybag")
        let keybag = try open(folder(vectors, keybag: vectors.bytes("keybag")))
        #expect(keybag.volume.bytes == (try vectors.bytes("volumeID")))
        #expect(keybag.file.generation == UInt64(try vectors.number("generation")))
        #expect(keybag.settings.created == UInt64(try vectors.number("created")))
        #expect(keybag.ring.available == [.none])
        let wanted = [
            try vectors.bytes("classKeyA"), try vectors.bytes("publicKeyB"), try vectors.bytes("classKeyC"),
            try vectors.bytes("classKeyD"),
        ]
        let byPasscode = try keybag.unlock(passcode: secret(vectors.bytes("passcode"))).exposed
        #expect(byPasscode == wanted)
        let byRecovery = try keybag.unlock(recoveryKey: secret(vectors.bytes("recoveryKey"))).exposed
        #expect(byRecovery == wanted)
        let byKeyFile = try keybag.unlock(Credential(.keyFile, reading: secret(vectors.text("keyFileText")))).exposed
        #expect(byKeyFile == wanted)
        let byEscrow = try keybag.unlock(Credential(.escrowKey, reading: secret(vectors.text("escrowPrivateKey"))))
            .exposed
        #expect(byEscrow == wanted)
        #expect(keybag.file.slots.map { $0.head?.identifier } == [1, 9, 2, 3, 4])
        #expect(keybag.file.slots.map(\.label.text) == [try vectors.text("passcodeLabel"), "", "", "USB", "IT"])
        guard case .passcode(let slot) = keybag.file.slots[0] else { throw Failure.notAVault }
        #expect(slot.label.text == (try vectors.text("passcodeLabel")))
        #expect(failure { _ = try keybag.unlock(passcode: secret("another passcode")) } == .wrong(.passcode))
        #expect(failure { _ = try keybag.unlock(recoveryKey: Secret(random: 32)) } == .wrong(.recoveryKey))
    }

    /// What is remembered of a keybag is read and written as in the vectors, and anything else is ignored.
    @Test func readsAndWritesWhatWasSeen() throws {
        let vectors = try Vectors("keybag")
        let folder = try folder(vectors, keybag: vectors.bytes("keybag"))
        let device = try DeviceKeyFile.load(path: Path(folder.deviceKeyPath))
        let memory = KeybagMemory(besideDeviceKey: Path(folder.deviceKeyPath))
        let file = URL(filePath: folder.deviceKeyPath + KeybagMemory.suffix)
        try Data(vectors.bytes("seen")).write(to: file)
        let keybag = try open(folder).file
        let read = try memory.read(device)
        let seen = try #require(read)
        #expect(seen.keybag.bytes == (try vectors.bytes("keybag")) && keybag.generation == 7)
        #expect(seen.time == UInt64(try vectors.number("seenTime")))
        try FileManager.default.removeItem(at: file)
        try memory.replace(by: seen.keybag, device) { _ in true }
        let (written, wanted) = (Array(try Data(contentsOf: file)), try vectors.bytes("seen"))
        // But for the time, and so the MAC.
        #expect(written.count == wanted.count && written[0..<32] == wanted[0..<32])
        #expect(written[40..<written.count - 32] == wanted[40..<wanted.count - 32])
        for ignored in try vectors.all("seenThatIsIgnored") {
            let why = try ignored.text("why")
            try Data(ignored.bytes("seen")).write(to: file)
            let isIgnored = try memory.read(device) == nil
            #expect(isIgnored, "\(why)")
            _ = try open(folder)
        }
    }

    @Test func opensWithoutAPasscode() throws {
        let vectors = try Vectors("keybag")
        let keybag = try open(folder(vectors, keybag: vectors.bytes("openKeybag")))
        #expect(keybag.hasNoPasscode)
        #expect(try keybag.unlock(.nothing()).exposed[0] == vectors.bytes("classKeyA"))
    }

    @Test func opensByASecurityKey() throws {
        let vectors = try Vectors("keybag")
        let keybag = try open(folder(vectors, keybag: vectors.bytes("securityKeyKeybag")))
        #expect(keybag.file.slots.map { $0.head?.identifier } == [1, 2, 3])
        #expect(keybag.file.slots.map(\.label.text) == [try vectors.text("passcodeLabel"), "blue", ""])
        let keys = keybag.file.securityKeys
        #expect(keys.map(\.slot) == [2, 3] && keys[1].entry.identifier.count == 1024)
        #expect(keys.map(\.entry.demands) == [[.verification, .presence], [.presence]])
        #expect(keys[0].entry.identifier == (try vectors.bytes("credential")))
        #expect(keys[0].entry.salt == (try vectors.bytes("securityKeySalt")))
        let derived = try SecurityKeySecret.encode(secret(vectors.bytes("fido2Secret")))
        let credential = try Credential(.securityKey, reading: derived)
        #expect(try keybag.unlock(credential).exposed[0] == vectors.bytes("classKeyA"))
        #expect(try keybag.slot(openedBy: credential) == 2)
    }

    /// A vault of an earlier version has directories without generations until its keys are rotated.
    @Test func numberedDirectories() throws {
        let vectors = try Vectors("keybag")
        let numbered = try open(folder(vectors, keybag: vectors.bytes("numberedKeybag")))
        #expect(numbered.file.numbersDirectories && !numbered.file.numbersBlocks && numbered.file.canWrite)
        _ = try numbered.unlock(passcode: secret(vectors.bytes("passcode")))
        let earlier = try open(folder(vectors, keybag: vectors.bytes("keybag")))
        #expect(!earlier.file.numbersDirectories && earlier.file.canWrite)
    }

    /// In a vault of an earlier version, new files have random nonces, too.
    @Test func numberedBlocks() throws {
        let vectors = try Vectors("keybag")
        let numbered = try open(folder(vectors, keybag: vectors.bytes("numberedBlocksKeybag")))
        #expect(numbered.file.numbersBlocks && numbered.file.numbersDirectories && numbered.file.canWrite)
        _ = try numbered.unlock(passcode: secret(vectors.bytes("passcode")))
        let earlier = try open(folder(vectors, keybag: vectors.bytes("keybag")))
        #expect(!earlier.file.numbersBlocks)
    }

    @Test func opensWithPreviousKeys() throws {
        let vectors = try Vectors("keybag")
        let keybag = try open(folder(vectors, keybag: vectors.bytes("rotatingKeybag")))
        let previous = try vectors.bytes("previousClassKeys")
        let ring = KeyRing(volume: keybag.volume)
        ring.install(try keybag.unlock(passcode: secret(vectors.bytes("passcode"))))
        let old = KeyRing(volume: keybag.volume)
        old.install(
            ClassKeys(
                complete: try secret(Array(previous[..<32])),
                completeUnlessOpenPrivate: try X25519.PrivateKey(secret(Array(previous[32..<64]))),
                completeUntilFirstUserAuthentication: try secret(Array(previous[64..<96])),
                none: try secret(Array(previous[96...]))))
        let key = try Secret(random: 32)
        let file = FileIdentifier(Random.bytes(16))
        for each in [ProtectionClass.complete, .completeUntilFirstUserAuthentication, .none] {
            let wrap = try old.wrap(key, file: file, class: each)
            #expect(try ring.unwrap(wrap, file: file, class: each).equals(key))
            // Before the first unlock the device key yields class D's.
            #expect((try? keybag.ring.unwrap(wrap, file: file, class: each)) == nil || each == .none)
        }
        let wrap = try old.wrap(key, file: file, class: .none)
        #expect(try keybag.ring.unwrap(wrap, file: file, class: .none).equals(key))
    }

    @Test func opensABackup() throws {
        let vectors = try Vectors("keybag")
        let bytes = try vectors.bytes("backup")
        let backup = try OpenedBackup(bytes, passphrase: secret(vectors.bytes("passphrase")))
        #expect(backup.volume.bytes == (try vectors.bytes("volumeID")))
        let store = try Folder()
        let volume = backup.volume
        let restored = try OpenKeybag.restore(
            backup, in: store.store(),
            newDeviceKey: DeviceKeyFile.create(path: Path(store.deviceKeyPath), volume: volume),
            newPasscode: secret("new passcode"), cost: .minimum)
        let keys = try restored.unlock(passcode: secret("new passcode")).exposed
        #expect(try keys[0] == vectors.bytes("classKeyA"))
        let byRecovery = try restored.unlock(recoveryKey: secret(vectors.bytes("recoveryKey"))).exposed
        #expect(byRecovery == keys)
        #expect(try KeybagBackup(decoding: bytes).encodeWithoutTag() == bytes.dropLast(32))
    }

    /// The marks beside a backup have a key that comes from its bundle.
    @Test func opensTheMarksOfABackup() throws {
        let vectors = try Vectors("keybag")
        let marks = try vectors.bytes("backupMarks")
        let backup = try OpenedBackup(vectors.bytes("backup"), passphrase: secret(vectors.bytes("passphrase")))
        let plain = try unsafe backup.marks().open(
            Array(marks[72...]).span.bytes, associatedData: Array(marks[..<64]).span.bytes,
            [UInt8](repeating: 0, count: 8).span.bytes)
        #expect(plain.count == 40 && plain.starts(with: Array(0..<12)) && plain[12] == 7)
    }

    @Test func encodesToTheSameBytes() throws {
        for name in ["keybag", "openKeybag", "securityKeyKeybag"] {
            let bytes = try Vectors("keybag").bytes(name)
            let file = try unsafe KeybagFile(decoding: bytes.span.bytes)
            #expect(try file.encodeWithoutTags() == bytes.dropLast(64), "\(name)")
        }
    }

    @Test func refusedAtParse() throws {
        for vector in try Vectors("keybag").all("refusedAtParse") {
            let why = try vector.text("why")
            let bytes = try vector.bytes("keybag")
            #expect(throws: FormatError.self, "\(why)") {
                _ = try unsafe KeybagFile(decoding: bytes.span.bytes)
            }
        }
    }

    @Test func refusedAtMount() throws {
        let vectors = try Vectors("keybag")
        for vector in try vectors.all("refusedAtMount") {
            let why = try vector.text("why")
            let folder = try folder(vectors, keybag: vector.bytes("keybag"))
            let error = failure { _ = try open(folder) }
            #expect(error?.isTampered == true, "\(why)")
        }
    }

    @Test func refusedAtUnlock() throws {
        let vectors = try Vectors("keybag")
        for vector in try vectors.all("refusedAtUnlock") {
            let why = try vector.text("why")
            let keybag = try open(folder(vectors, keybag: vector.bytes("keybag")))
            let byPasscode = failure { _ = try keybag.unlock(passcode: secret(vectors.bytes("passcode"))) }
            #expect(byPasscode?.isTampered == true, "\(why)")
        }
    }

    @Test func subkeys() throws {
        let vectors = try Vectors("names")
        let volume = try Vectors("subkeys")
        let keys = try VolumeKeys(
            volumeKey: secret(volume.bytes("volumeKey")), volume: VolumeIdentifier(volume.bytes("volumeID")))
        let directory = try vectors.bytes("directoryID")
        for vector in try vectors.all("cases") {
            let name = try vector.bytes("name")
            #expect(try keys.names.seal(name, associatedData: directory) == vector.bytes("sealed"))
            #expect(try keys.names.open(vector.bytes("sealed"), associatedData: directory) == name)
            #expect(Array(keys.bindings.tag(of: directory, name).prefix(16)) == (try vector.bytes("place")))
        }
    }

    @Test func fileKeys() throws {
        let vectors = try Vectors("wraps")
        let keybag = try Vectors("keybag")
        let ring = KeyRing(
            volume: VolumeIdentifier(try vectors.bytes("volumeID")), publicKey: try keybag.bytes("publicKeyB"))
        ring.install(
            ClassKeys(
                complete: try secret(keybag.bytes("classKeyA")),
                completeUnlessOpenPrivate: try X25519.PrivateKey(secret(keybag.bytes("privateKeyB"))),
                completeUntilFirstUserAuthentication: try secret(keybag.bytes("classKeyC")),
                none: try secret(keybag.bytes("classKeyD"))))
        for vector in try vectors.all("cases") + [vectors.one("caseB")] {
            let file = FileIdentifier(try vector.bytes("fileID"))
            let protectionClass = try #require(ProtectionClass(rawValue: UInt8(try vector.number("class"))))
            let wrap = FileKeyWrap(
                algorithm: UInt8(try vector.number("algorithm")), bytes: try vector.bytes("wrap"))
            let key = try ring.unwrap(wrap, file: file, class: protectionClass).exposed
            #expect(key == (try vector.bytes("fileKey")))
            guard protectionClass != .completeUnlessOpen else { continue }
            let again = try ring.wrap(secret(key), file: file, class: protectionClass)
            #expect(again == wrap)
        }
        for vector in try vectors.all("refused") {
            let why = try vector.text("why")
            let protectionClass = try #require(ProtectionClass(rawValue: UInt8(try vector.number("class"))))
            let bytes = try vector.bytes("wrap")
            let wrap = FileKeyWrap(algorithm: protectionClass == .completeUnlessOpen ? 2 : 1, bytes: bytes)
            #expect(throws: KeyRingError.notAuthentic, "\(why)") {
                _ = try ring.unwrap(wrap, file: FileIdentifier(vector.bytes("fileID")), class: protectionClass)
            }
        }
    }

    @Test func recoveryTexts() throws {
        let vectors = try Vectors("recovery")
        for vector in try vectors.all("cases") {
            let text = try RecoveryKeyText.encode(secret(vector.bytes("key"))).exposed
            #expect(String(decoding: text, as: UTF8.self) == (try vector.text("text")))
        }
        for vector in try vectors.all("cases") + vectors.all("accepted") {
            let key = try RecoveryKeyText.decode(secret(vector.text("text"))).exposed
            #expect(key == (try vector.bytes("key")))
        }
        for vector in try vectors.all("refused") {
            let why = try vector.text("why")
            let error = failure { _ = try RecoveryKeyText.decode(secret(vector.text("text"))) }
            #expect(error == .malformedRecoveryKey, "\(why)")
        }
    }
}
