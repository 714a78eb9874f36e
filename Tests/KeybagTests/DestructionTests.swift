import Failure
import Foundation
import TestSecrets
import TestStores
import Testing

@testable import Keybag

/// After `erase` nothing is left, and no change of the keybag puts anything back.
@Suite struct DestructionTests {
    /// Second names of the files show what became of the contents after the files' own names are gone.
    @Test func erasedFilesAreOverwritten() throws {
        let vault = try Vault()
        let files = [vault.folder.path + "/vault/lk.keybag", vault.folder.deviceKeyPath]
        for file in files { try FileManager.default.linkItem(atPath: file, toPath: file + ".kept") }
        let sizes = try files.map { try Data(contentsOf: URL(filePath: $0)).count }
        let destruction = try vault.open().destroy(deviceKeyPath: vault.folder.deviceKeyPath)
        #expect(destruction.failure == nil && destruction.deviceKey == .destroyed)
        for (file, size) in zip(files, sizes) {
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try Data(contentsOf: URL(filePath: file + ".kept")) == Data(count: size), "\(file)")
        }
    }

    /// A flush follows each overwrite and precedes the unlink: otherwise the zeros may never reach the disk.
    @Test func overwritesAreFlushed() throws {
        let vault = try Vault()
        let calls = StoreCalls([.write, .synchronize, .unlink])
        let store = InterceptingStore(try vault.folder.store(), hook: calls)
        let keybag = try vault.open(store)
        calls.forget()
        _ = keybag.destroy(deviceKeyPath: vault.folder.deviceKeyPath)
        #expect(calls.made == [.write, .synchronize, .write, .synchronize, .unlink, .synchronize])
    }

    /// A change that began before the destruction and ends after it.
    @Test func nothingReplacesAnErasedKeybag() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        let path = vault.folder.deviceKeyPath
        let credential = try Credential(.passcode, reading: secret("passcode"))
        let error = failure {
            try keybag.change(opening: credential) { (_, _) throws(Failure) in
                _ = keybag.destroy(deviceKeyPath: path)
            }
        }
        #expect(error == .erased(reason: nil))
        #expect(try vault.folder.files.isEmpty)
    }

    /// The same for the end of a rotation, which needs no passcode.
    @Test func noRotationEndsAfterIt() throws {
        let vault = try Vault()
        let keybag = try vault.open()
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        let credential = try Credential(.passcode, reading: secret("passcode"))
        try keybag.beginRotation(opening: credential, recoveryKey: nil, dropping: [2])
        keybag.ring.install(try keybag.unlock(passcode: secret("passcode")))
        _ = keybag.destroy(deviceKeyPath: vault.folder.deviceKeyPath)
        #expect(failure { _ = try keybag.finishRotation() } == .erased(reason: nil))
        #expect(try vault.folder.files.isEmpty)
    }
}
