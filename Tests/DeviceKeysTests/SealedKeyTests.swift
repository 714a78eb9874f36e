import Foundation
import DeviceKeys
import Failure
import Keybag
import Posix
import TPM
import TestSecrets
import TestSupport
import Testing

/// What a TPM seals, and how a key is kept.
@Suite(.timeLimit(.minutes(2))) struct SealedKeyTests {
    let machine: Machine

    init() throws {
        machine = try Machine()
    }

    /// docs/FORMAT.md: the key, the counter's index, and what is added to the counter.
    @Test func aNewKeyIsSealedWithItsCounter() throws {
        let key = try machine.create()
        let bytes = try machine.released()
        #expect(bytes.count == 44 && Array(bytes[..<32]) == key.bytes)
        let index = bytes[32..<36].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let offset = bytes[36...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(try machine.tpm.definedIndices() == [index])
        let auth = try key.withSecret { try DeviceKey.counterAuthorization(of: $0, volume: machine.volume) }
        let value = try TPM(tcti: machine.tpm.tcti).value(ofCounter: index, auth: auth)
        #expect(value &+ offset == 1)
        #expect(try key.counter?.lowest() == 1 && key.isGuarded)

        let again = try machine.load()
        #expect(again.bytes == key.bytes && again.isGuarded)
        #expect(try again.counter?.lowest() == 1)
    }

    @Test func anEarlierVersionSealedTheKeyAlone() throws {
        let bytes = [UInt8](0..<32)
        try machine.write(sealing: bytes)
        let key = try machine.load()
        #expect(key.bytes == bytes && key.isGuarded && key.counter == nil)
    }

    @Test(arguments: [1, 31, 33, 43, 45, 128]) func anythingElseIsNoKey(count: Int) throws {
        try machine.write(sealing: [UInt8](repeating: 1, count: count))
        #expect(failure { _ = try machine.load() } == .notADeviceKey(path: machine.path))
    }

    /// Bound anew: the counter stays, since the file from before still names it, and goes on from where it is told.
    @Test func keptInTheTPMAgain() throws {
        let key = try machine.create()
        let before = try machine.tpm.definedIndices()
        let file = try Data(contentsOf: URL(filePath: String(decoding: machine.path.bytes, as: UTF8.self)))
        try machine.keep(key, as: .tpm2(.none), generation: 7)
        let after = try machine.tpm.definedIndices()
        #expect(after.count == 1 && after == before)
        #expect(try Data(contentsOf: URL(filePath: String(decoding: machine.path.bytes, as: UTF8.self))) != file)
        let kept = try machine.load()
        #expect(kept.bytes == key.bytes)
        #expect(try kept.counter?.lowest() == 7)
        try file.write(to: URL(filePath: String(decoding: machine.path.bytes, as: UTF8.self)))
        #expect(try machine.load().counter?.lowest() == 7)
    }

    @Test func keptInAFileAndBack() throws {
        let key = try machine.create()
        try machine.keep(key, as: .software)
        #expect(try machine.tpm.definedIndices().isEmpty)
        let plain = try machine.load()
        #expect(plain.bytes == key.bytes && plain.counter == nil && !plain.isGuarded)
        try machine.keep(plain, as: .tpm2(.none), generation: 9)
        #expect(try machine.lowest() == 9)
        #expect(try machine.load().bytes == key.bytes)
    }

    @Test func theEarlierFormGetsACounterWhenItIsKeptAgain() throws {
        try machine.write(sealing: [UInt8](0..<32))
        try machine.keep(machine.load(), as: .tpm2(.none), generation: 3)
        #expect(try machine.load().bytes == [UInt8](0..<32))
        #expect(try machine.lowest() == 3)
    }

    /// If the new file cannot be written, the old one and its counter stay, and no second counter.
    @Test func keptInVain() throws {
        let key = try machine.create()
        let before = try machine.tpm.definedIndices()
        let contents = try machine.contents
        let blocker = machine.folder.path(".device.key.new")
        try shell("mkdir '\(blocker)'", in: "/").succeeded()
        #expect(failure { try machine.keep(key, as: .tpm2(.none), generation: 7) } != nil)
        #expect(failure { try machine.keep(key, as: .software) } != nil)
        #expect(try machine.tpm.definedIndices() == before)
        #expect(try machine.contents == contents)
        #expect(try machine.lowest() == 1)
    }

    @Test func aFileInTheWayLeavesNoCounter() throws {
        _ = try machine.folder.write("here", to: "device.key")
        guard case .io(.EEXIST, _) = failure({ _ = try machine.create() }) else {
            Issue.record("a file was overwritten")
            return
        }
        #expect(try machine.tpm.definedIndices().isEmpty)
    }

    /// The key does without a counter, as one of an earlier version.
    @Test func anOwnerWithAPassword() throws {
        try machine.tpm.keepStorageKey()
        try machine.tpm.setOwnerPassword("owner")
        let key = try machine.create()
        #expect(key.counter == nil && key.isGuarded)
        #expect(try machine.released() == key.bytes)
        try machine.keep(key, as: .tpm2(.none), generation: 5)
        #expect(try machine.load().bytes == key.bytes)
        #expect(try machine.lowest() == nil)
    }

    @Test func usedAsIfItWereKeptOtherwise() throws {
        let key = try machine.create()
        let plain = try DeviceKeyLocation.key(key, at: machine.path, as: .software)
        #expect(plain.counter == nil && !plain.isGuarded)
        let same = try DeviceKeyLocation.key(key, at: machine.path, as: .tpm2(.none))
        #expect(try same.counter?.lowest() == 1 && same.isGuarded)
    }
}
