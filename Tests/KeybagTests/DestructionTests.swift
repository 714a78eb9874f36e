import Failure
import Foundation
import TestSecrets
import TestStores
import Testing

@testable import Keybag

/// What `erase` leaves: nothing, and nothing that a change of the keybag puts back.
@Suite struct DestructionTests {
    /// Second names of the files keep what is left of them when theirs are gone.
    @Test func whatIsErasedIsWrittenOver() throws {
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

    /// Each time, and before the name goes: else the disk may never hear of it.
    @Test func whatIsWrittenOverIsFlushed() throws {
        let vault = try Vault()
        let calls = StoreCalls([.write, .synchronize, .unlink])
        let store = InterceptingStore(try vault.folder.store(), hook: calls)
        let keybag = try vault.open(store)
        calls.forget()
        _ = keybag.destroy(deviceKeyPath: vault.folder.deviceKeyPath)
        #expect(calls.made == [.write, .synchronize, .write, .synchronize, .unlink, .synchronize])
    }

    /// What was begun before, and ends after it.
    @Test func nothingIsPutInItsPlace() throws {
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

    /// The same of the end of a rotation, which needs no passcode.
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
