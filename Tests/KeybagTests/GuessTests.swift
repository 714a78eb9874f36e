import Crypto
import Failure
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Keybag

/// Wrong passcodes are counted, and cost a wait.
@Suite struct GuessTests {
    private func counter(_ vault: Vault) -> GuessCounter {
        GuessCounter(besideDeviceKey: Path(vault.folder.deviceKeyPath), volume: vault.volume)
    }

    private func guess(_ vault: Vault, _ text: String, mayBeLast: Bool = false) throws -> Failure? {
        let keybag = try vault.open()
        return failure {
            _ = try keybag.unlock(Credential(.passcode, reading: secret(text), mayBeLast: mayBeLast))
        }
    }

    private func wrong(_ left: Int) -> Failure { .wrong(.passcode, Guesses(left: left, limit: 4)) }

    @Test(
        arguments: [
            (0, 0), (1, 0), (4, 0), (5, 60), (6, 300), (7, 900), (8, 900), (9, 3600), (10, 3600), (.max, 3600),
        ] as [(UInt32, UInt64)]) func delays(wrong: UInt32, seconds: UInt64)
    {
        #expect(GuessCounter.delay(after: wrong) == seconds)
        let record = GuessCounter.Record(wrong: wrong, last: 1_000_000)
        #expect(GuessCounter.wait(record, now: 1_000_000) == seconds)
        #expect(GuessCounter.wait(record, now: 1_000_000 + seconds) == 0)
        if seconds > 0 { #expect(GuessCounter.wait(record, now: 1_000_001) == seconds - 1) }
        // A clock that was set back.
        #expect(GuessCounter.wait(record, now: 5) == seconds)
    }

    @Test func theFifthHasToWait() throws {
        let vault = try Vault()
        for number in 1...5 {
            #expect(try guess(vault, "wrong \(number)") == .wrong(.passcode))
            // The same wrong passcode again is not counted as another guess.
            if number < 5 { #expect(try guess(vault, "wrong \(number)") == .wrong(.passcode)) }
        }
        for text in ["wrong 6", "wrong 5", "passcode"] {
            let error = try guess(vault, text)
            guard case .tooManyGuesses(let seconds) = error else {
                Issue.record("it was tried")
                return
            }
            #expect(50...60 ~= seconds)
        }
        let path = counter(vault).name
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // An hour later the right passcode resets the count.
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        #expect(bytes.count == GuessCounter.byteCount && bytes[24] == 5)
        bytes.replaceSubrange(32..<40, with: [1, 0, 0, 0, 0, 0, 0, 0])
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try guess(vault, "passcode") == nil)
        for number in 1...5 { #expect(try guess(vault, "again \(number)") == .wrong(.passcode)) }
        // So does another credential, which need not wait.
        _ = try vault.open().unlock(recoveryKey: vault.recoveryKey)
        #expect(try guess(vault, "passcode") == nil)
    }

    /// A clock that was years ahead for a moment does not lock the owner out until then.
    @Test func aClockThatWasAhead() throws {
        let vault = try Vault()
        for number in 1...5 { #expect(try guess(vault, "wrong \(number)") == .wrong(.passcode)) }
        let path = counter(vault).name
        func last() throws -> UInt64 {
            try Data(contentsOf: URL(filePath: path))[32..<40].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        bytes.replaceSubrange(32..<40, with: [0, 0, 0, 0, 9, 0, 0, 0])
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try guess(vault, "passcode") == .tooManyGuesses(seconds: 60))
        let now = UInt64(Date().timeIntervalSince1970)
        #expect(try now - 60...now ~= last())
    }

    /// Not counted as a guess: a damaged keybag, and an empty passcode.
    @Test func failuresThatAreNoGuess() throws {
        let vault = try Vault()
        for _ in 1...10 { #expect(try guess(vault, "") == .passcodeLength(bytes: 0)) }
        #expect(try guess(vault, "passcode") == nil)
    }

    /// A guess is counted before it is tried: ending the program does not win a free guess.
    @Test func aTryThatNeverEnds() throws {
        let vault = try Vault()
        let counter = counter(vault)
        for number in 1...5 as ClosedRange<UInt8> {
            _ = failure {
                try counter.counted { (fingerprint) throws(Failure) in
                    fingerprint = UInt16(number)
                    let bytes = (try? Data(contentsOf: URL(filePath: counter.name))).map { Array($0) } ?? []
                    #expect(bytes[24] == number)
                    throw .wrong(.passcode)
                }
            }
        }
    }

    /// For a passcode that a chip protects, the counter keeps no bits made from it, and removes those of an earlier
    /// version. The same wrong passcode then counts again, as it does for the chip. 0 is no fingerprint.
    @Test func noBitsAreKeptOfAPasscodeOnAChip() throws {
        let vault = try Vault()
        let counter = counter(vault)
        func record(byChip: Bool, fingerprint: UInt16) throws -> [UInt8] {
            _ = failure {
                try counter.counted(isGuarded: byChip) { (found) throws(Failure) in
                    found = fingerprint
                    // Also while it is tried.
                    if byChip {
                        #expect((try? Data(contentsOf: URL(filePath: counter.name)))?[28..<30] == Data([0, 0]))
                    }
                    throw .wrong(.passcode)
                }
            }
            return Array(try Data(contentsOf: URL(filePath: counter.name)))
        }
        #expect(try record(byChip: false, fingerprint: 0x1234)[28..<30] == [0x34, 0x12])
        for count in 2...3 as ClosedRange<UInt8> {
            let bytes = try record(byChip: true, fingerprint: 0x1234)
            #expect(bytes[24] == count && bytes[28..<30] == [0, 0])
        }
        #expect(try record(byChip: false, fingerprint: 0)[24] == 4)
    }

    /// Another vault's file, or one with other bytes, is no count; where nothing can be written the vault opens.
    @Test func otherFiles() throws {
        let vault = try Vault()
        let path = counter(vault).name
        for bytes in [[], [1, 2, 3], [UInt8](repeating: 255, count: 40), [UInt8](repeating: 255, count: 100)] {
            try Data(bytes).write(to: URL(filePath: path))
            #expect(try guess(vault, "wrong") == .wrong(.passcode))
            #expect(try guess(vault, "passcode") == nil)
        }
    }

    // MARK: A limit

    /// After the limit of wrong passcodes in a row, the vault is erased.
    @Test func theLastOneErases() throws {
        let vault = try Vault(eraseAfter: 4)
        for number in 1...3 { #expect(try guess(vault, "wrong \(number)") == wrong(4 - number)) }
        #expect(try guess(vault, "passcode", mayBeLast: true) == nil)
        for number in 1...3 {
            #expect(try guess(vault, "wrong \(number)") == wrong(4 - number))
            // The same one again is not counted.
            #expect(try guess(vault, "wrong \(number)", mayBeLast: number == 3) == wrong(4 - number))
            #expect(try vault.open().guessesLeft == Guesses(left: 4 - number, limit: 4))
        }
        // Without the permission for a last guess nothing is tried, right or wrong, and nothing is counted.
        let count = try Data(contentsOf: URL(filePath: counter(vault).name))
        for text in ["wrong 3", "wrong 4", "passcode"] { #expect(try guess(vault, text) == .lastGuess(limit: 4)) }
        #expect(try Data(contentsOf: URL(filePath: counter(vault).name)) == count)
        let copy = try vault.keybag
        let keybag = try vault.open()
        let last = try Credential(.passcode, reading: secret("wrong 4"), mayBeLast: true)
        #expect(failure { _ = try keybag.unlock(last) } == .erased(limit: 4, reason: nil))
        #expect(keybag.guessesLeft == Guesses(left: 0, limit: 4))
        #expect(try vault.folder.files.keys.sorted() == ["lk.erased"])
        #expect(!FileManager.default.fileExists(atPath: vault.folder.deviceKeyPath))
        // The mark in the counter tells a daemon that still has the keys in memory.
        #expect(try Array(Data(contentsOf: URL(filePath: counter(vault).name)))[24..<28] == [255, 255, 255, 255])
        // A copy of the keybag is useless without the device key, except to the recovery key.
        try vault.writeKeybag(copy)
        #expect(failure { _ = try vault.open() } == .deviceKeyMissing(path: Path(vault.folder.deviceKeyPath)))
    }

    /// If nothing can be counted, the message says that all attempts are left, and they stay so.
    @Test func aCountThatCannotBeKeptIsNotReported() throws {
        let vault = try Vault(eraseAfter: 4)
        try FileManager.default.removeItem(atPath: counter(vault).name)
        try FileManager.default.createDirectory(atPath: counter(vault).name, withIntermediateDirectories: false)
        for number in 1...6 { #expect(try guess(vault, "wrong \(number)") == wrong(4)) }
        #expect(try vault.open().guessesLeft == Guesses(left: 4, limit: 4))
        #expect(try guess(vault, "passcode") == nil)
    }

    /// A guess at the limit that was interrupted erases nothing and allows no more guesses: only the other credentials
    /// open.
    @Test func interruptedAtTheLimit() throws {
        let vault = try Vault(eraseAfter: 4)
        for number in 1...3 { #expect(try guess(vault, "wrong \(number)") == wrong(4 - number)) }
        let counter = counter(vault)
        let path = counter.name
        _ = failure {
            try counter.counted(upTo: 4, mayBeLast: true) { (_) throws(Failure) in
                let bytes = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
                try? bytes.write(to: URL(filePath: path + ".then"))
                throw .wrong(.passcode)
            }
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".then", toPath: path)
        for text in ["passcode", "wrong 4"] {
            #expect(try guess(vault, text, mayBeLast: true) == .noMoreGuesses)
            #expect(try vault.open().guessesLeft == Guesses(left: 0, limit: 4))
        }
        _ = try vault.open().unlock(recoveryKey: vault.recoveryKey)
        #expect(try guess(vault, "passcode") == nil)
    }
}

extension GuessCounter {
    /// Its path, which is text here.
    fileprivate var name: String { path.text ?? "" }
}
