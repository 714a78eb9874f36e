import Crypto
import SoftTPM
import TPM
import TestSecrets
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) final class CounterTests {
    let soft: SoftTPM
    let auth: Secret

    init() throws {
        soft = try SoftTPM()
        auth = try Secret(random: 32)
    }

    @Test func countsOneByOne() throws {
        let tpm = try soft.connect()
        let made = try tpm.makeCounter(auth: auth)
        #expect(0x0180_0000...0x01bf_ffff ~= made.index)
        #expect(try tpm.value(ofCounter: made.index, auth: auth) == made.value)
        #expect(try tpm.increment(counter: made.index, auth: auth) == made.value + 1)
        #expect(try tpm.increment(counter: made.index, by: 64, auth: auth) == made.value + 65)
        #expect(try tpm.value(ofCounter: made.index, auth: auth) == made.value + 65)
    }

    /// The TPM ignores zeros at the end of an authorization value, and one value of 256 ends with one.
    @Test(arguments: [1, 31]) func zerosAtTheEndDoNoHarm(zeros: Int) throws {
        let bytes = [UInt8](repeating: 0x55, count: 32 - zeros) + [UInt8](repeating: 0, count: zeros)
        let auth = try Secret(copying: unsafe bytes.span.bytes)
        let tpm = try soft.connect()
        let made = try tpm.makeCounter(auth: auth)
        #expect(try soft.connect().increment(counter: made.index, auth: auth) == made.value + 1)
        try tpm.removeCounter(made.index, auth: auth)
    }

    @Test func outlivesConnectionsAndPower() throws {
        let made = try soft.connect().makeCounter(auth: auth)
        #expect(try soft.connect().increment(counter: made.index, auth: auth) == made.value + 1)
        try soft.powerCycle()
        #expect(try soft.connect().value(ofCounter: made.index, auth: auth) == made.value + 1)
    }

    /// Neither counted by the dictionary attack protection, nor stopped by it.
    @Test func aWrongValueIsRefused() throws {
        let tpm = try soft.connect()
        let made = try tpm.makeCounter(auth: auth)
        let wrong = try Secret(random: 32)
        let index = made.index
        #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.value(ofCounter: index, auth: wrong) }
        #expect(throws: TPMError.wrongAuthorization) { try tpm.increment(counter: index, auth: wrong) }
        #expect(throws: TPMError.wrongAuthorization) { try tpm.removeCounter(index, auth: wrong) }
        #expect(try tpm.lockout.failedTries == 0)

        let sealed = try tpm.seal(auth, auth: auth)
        for _ in 0..<(try tpm.lockout.maximumTries) {
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(sealed, auth: wrong) }
        }
        #expect(try tpm.lockout.isLockedOut)
        #expect(try tpm.value(ofCounter: index, auth: auth) == made.value)
    }

    /// The owner, who has no password, neither reads nor increments it.
    @Test func theOwnerCannotUseIt() throws {
        let made = try soft.connect().makeCounter(auth: auth)
        #expect(throws: HarnessError.self) { try soft.incrementAsOwner(counter: made.index) }
        #expect(try soft.connect().value(ofCounter: made.index, auth: auth) == made.value)
    }

    @Test func oneIsNotAnother() throws {
        let tpm = try soft.connect()
        let other = try Secret(random: 32)
        let first = try tpm.makeCounter(auth: auth)
        let second = try tpm.makeCounter(auth: other)
        #expect(first.index != second.index)
        try tpm.increment(counter: first.index, by: 3, auth: auth)
        #expect(try tpm.value(ofCounter: first.index, auth: auth) == first.value + 3)
        #expect(try tpm.value(ofCounter: second.index, auth: other) == second.value)
        #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.value(ofCounter: second.index, auth: auth) }
    }

    @Test func aRemovedOneIsGone() throws {
        let tpm = try soft.connect()
        let first = try tpm.makeCounter(auth: auth)
        let second = try tpm.makeCounter(auth: auth)
        try tpm.removeCounter(first.index, auth: auth)
        #expect(throws: TPMError.noCounter) { _ = try tpm.value(ofCounter: first.index, auth: auth) }
        #expect(throws: TPMError.noCounter) { try tpm.increment(counter: first.index, auth: auth) }
        #expect(throws: TPMError.noCounter) { try tpm.removeCounter(first.index, auth: auth) }
        #expect(try tpm.value(ofCounter: second.index, auth: auth) == second.value)
    }

    @Test func isGoneOnceTheTPMIsCleared() throws {
        let made = try soft.connect().makeCounter(auth: auth)
        try soft.clear()
        #expect(throws: TPMError.noCounter) { _ = try soft.connect().value(ofCounter: made.index, auth: auth) }
    }

    /// A later counter never shows less than an earlier one, so that nobody makes a lower one at the same index.
    @Test func aNewOneBeginsNoLower() throws {
        let tpm = try soft.connect()
        let first = try tpm.makeCounter(auth: auth)
        let last = try tpm.increment(counter: first.index, by: 9, auth: auth)
        try tpm.removeCounter(first.index, auth: auth)
        #expect(try tpm.makeCounter(auth: auth).value > last)
    }

    /// Outside the owner's indices, or of another kind: nothing is tried there.
    @Test func whatIsNoCounterIsLeftAlone() throws {
        let tpm = try soft.connect()
        try soft.defineOrdinaryIndex(0x0180_0001)
        for index in [0, 0x0100_0000, 0x0180_0001, 0x0180_0002, 0x01c0_0000, 0x8100_0001, .max] as [UInt32] {
            #expect(throws: TPMError.noCounter) { _ = try tpm.value(ofCounter: index, auth: auth) }
            #expect(throws: TPMError.noCounter) { try tpm.removeCounter(index, auth: auth) }
        }
        #expect(try tpm.lockout.failedTries == 0)
    }

    @Test func anOwnerPasswordIsTold() throws {
        try soft.keepStorageKey()
        let tpm = try soft.connect()
        let made = try tpm.makeCounter(auth: auth)
        try soft.setOwnerPassword("owner")
        #expect(throws: TPMError.ownerPassword) { _ = try tpm.makeCounter(auth: auth) }
        #expect(throws: TPMError.ownerPassword) { try tpm.removeCounter(made.index, auth: auth) }
        #expect(try tpm.increment(counter: made.index, auth: auth) == made.value + 1)
    }

    @Test func aFullTPMIsTold() throws {
        // Large ones first: there is room for thousands of counters.
        var index: UInt32 = 0x0180_0000
        while (try? soft.defineOrdinaryIndex(index, size: 2048)) != nil { index += 1 }
        let tpm = try soft.connect()
        #expect(throws: TPMError.noRoom) {
            for _ in 0..<50 { _ = try tpm.makeCounter(auth: auth) }
        }
    }

    /// A TPM has room for three objects and three sessions: one that is not flushed soon makes a call fail.
    @Test func manyTimesOver() throws {
        let tpm = try soft.connect()
        let wrong = try Secret(random: 32)
        let made = try tpm.makeCounter(auth: auth)
        for round in 1...8 as ClosedRange<UInt64> {
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.value(ofCounter: made.index, auth: wrong) }
            #expect(throws: TPMError.noCounter) { _ = try tpm.value(ofCounter: 0, auth: auth) }
            #expect(try tpm.increment(counter: made.index, auth: auth) == made.value + round)
            let other = try tpm.makeCounter(auth: auth)
            try tpm.removeCounter(other.index, auth: auth)
        }
    }

    @Test func sizesAreBounded() throws {
        let tpm = try soft.connect()
        for count in [0, 31, 33] {
            #expect(throws: TPMError.invalidInput("the authorization value of a counter has 32 bytes")) {
                _ = try tpm.makeCounter(auth: Secret(count: count))
            }
        }
        #expect(throws: TPMError.invalidInput("an authorization value of zeros is none")) {
            _ = try tpm.makeCounter(auth: Secret(count: 32))
        }
    }
}
