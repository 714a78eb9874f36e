import Failure
import Foundation
import Posix
import TestSecrets
import TestStores
import Synchronization
import Testing

@testable import Keybag

/// After `erase` nothing is left, and no change of the keybag puts anything back.
@Suite struct DestructionTests {
    /// An open file and a second name show what became of the contents after the files' own names are gone.
    @Test func erasedFilesAreOverwritten() throws {
        let vault = try Vault()
        let (keybag, deviceKey) = (vault.folder.path + "/vault/lk.keybag", vault.folder.deviceKeyPath)
        let open = try FileHandle(forReadingFrom: URL(filePath: keybag))
        try FileManager.default.linkItem(atPath: deviceKey, toPath: deviceKey + ".kept")
        let sizes = try [keybag, deviceKey].map { try Data(contentsOf: URL(filePath: $0)).count }
        let destruction = try vault.open().destroy(deviceKeyPath: Path(vault.folder.deviceKeyPath))
        #expect(destruction.failure == nil && destruction.deviceKey == .destroyed)
        for file in [keybag, deviceKey] { #expect(!FileManager.default.fileExists(atPath: file)) }
        #expect(try open.readToEnd() == Data(count: sizes[0]))
        #expect(try Data(contentsOf: URL(filePath: deviceKey + ".kept")) == Data(count: sizes[1]))
    }

    /// Another name of the keybag may be that of a copy of the vault. The limit of guesses spares no name.
    @Test(arguments: [true, false]) func anotherNameOfTheKeybag(_ isSpared: Bool) throws {
        let vault = try Vault()
        let keybag = vault.folder.path + "/vault/lk.keybag"
        try FileManager.default.linkItem(atPath: keybag, toPath: keybag + ".kept")
        let before = try Data(contentsOf: URL(filePath: keybag))
        let open = try vault.open()
        let path = Path(vault.folder.deviceKeyPath)
        let destruction = isSpared ? open.destroy(deviceKeyPath: path) : open.destroyAfterGuesses(deviceKeyPath: path)
        #expect(destruction.failure == nil && !FileManager.default.fileExists(atPath: keybag))
        let kept = try Data(contentsOf: URL(filePath: keybag + ".kept"))
        #expect(kept == (isSpared ? before : Data(count: before.count)))
    }

    /// The chip's counter goes with the device key, and stays with it.
    @Test(arguments: ["erase", "guesses", "keybag alone"]) func theCounterOfTheDeviceKey(by way: String) throws {
        let vault = try Vault()
        let path = Path(vault.folder.deviceKeyPath)
        let counter = CounterDouble()
        let key = try DeviceKeyFile.load(path: path).copy(besides: path, hardware: nil, counter: counter)
        let open = try OpenKeybag.open(in: vault.folder.store(), deviceKey: key)
        switch way {
        case "erase": _ = open.destroy(deviceKeyPath: path)
        case "guesses": _ = open.destroyAfterGuesses(deviceKeyPath: path)
        default: _ = open.destroy(deviceKeyPath: nil)
        }
        // Not while the keybag is locked: a chip may not answer.
        let isEarly = counter.isRemoved.load(ordering: .relaxed)
        #expect(!isEarly)
        open.removeCounter()
        let isRemoved = counter.isRemoved.load(ordering: .relaxed)
        #expect(isRemoved == (way != "keybag alone"))
    }

    /// A flush follows each overwrite and precedes the unlink: otherwise the zeros may never reach the disk. The last
    /// write is the statement that the vault was erased, when nothing is left of the keybag.
    @Test func overwritesAreFlushed() throws {
        let vault = try Vault()
        let calls = StoreCalls([.write, .synchronize, .unlink])
        let store = InterceptingStore(try vault.folder.store(), hook: calls)
        let keybag = try vault.open(store)
        calls.forget()
        _ = keybag.destroy(deviceKeyPath: Path(vault.folder.deviceKeyPath))
        #expect(
            calls.made == [
                .write, .synchronize, .write, .synchronize, .unlink, .write, .synchronize, .synchronize,
            ])
    }

    /// A change that began before the destruction and ends after it.
    @Test func nothingReplacesAnErasedKeybag() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let path = Path(vault.folder.deviceKeyPath)
        let credential = try Credential(.passcode, reading: secret("passcode"))
        let error = failure {
            try keybag.change(opening: credential) { (_, _) throws(Failure) in
                _ = keybag.destroy(deviceKeyPath: path)
            }
        }
        #expect(error == .erased(reason: nil))
        #expect(try vault.folder.files.keys.sorted() == ["lk.erased"])
    }

    /// The same for the end of a rotation, which needs no passcode.
    @Test func noRotationEndsAfterIt() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        let credential = try Credential(.passcode, reading: secret("passcode"))
        try keybag.beginRotation(opening: credential, recoveryKey: nil, dropping: [2])
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        _ = keybag.destroy(deviceKeyPath: Path(vault.folder.deviceKeyPath))
        #expect(failure { _ = try keybag.finishRotation() } == .erased(reason: nil))
        #expect(try vault.folder.files.keys.sorted() == ["lk.erased"])
    }
}

/// Knows whether it was removed.
private final class CounterDouble: GenerationCounter {
    let isRemoved = Atomic(false)

    func lowest() -> UInt64 { 0 }
    func raise(to generation: UInt64) {}
    func restart(at generation: UInt64) {}
    func remove() { isRemoved.store(true, ordering: .relaxed) }
}
