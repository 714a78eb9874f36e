import Crypto
import SoftTPM
import TPM
import TestSecrets
import Testing

@Suite(.timeLimit(.minutes(10))) struct LockoutTests {
    let soft: SoftTPM

    init() throws {
        soft = try SoftTPM()
    }

    @Test(arguments: [PCRSelection.none, .of(0, 23)]) func wrongValuesAreCountedUntilAllAreRefused(
        pcrs: PCRSelection
    ) throws {
        let tpm = try soft.connect()
        let auth = try secret("right")
        let wrong = try secret("wrong")
        let sealed = try tpm.seal(secret("one"), auth: auth, pcrs: pcrs)
        let before = try tpm.lockout
        #expect(before.failedTries == 0)
        #expect(!before.isLockedOut)
        #expect(before.maximumTries > 1)
        #expect(before.recoverySeconds > 0)

        for tries in 1...before.maximumTries {
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(sealed, auth: wrong, pcrs: pcrs) }
            #expect(try tpm.lockout.failedTries == tries)
            #expect(try tpm.lockout.isLockedOut == (tries == before.maximumTries))
        }
        #expect(throws: TPMError.lockedOut) { _ = try tpm.unseal(sealed, auth: wrong, pcrs: pcrs) }
        #expect(throws: TPMError.lockedOut) { _ = try tpm.unseal(sealed, auth: auth, pcrs: pcrs) }
        try soft.powerCycle()
        #expect(throws: TPMError.lockedOut) { _ = try soft.connect().unseal(sealed, auth: auth, pcrs: pcrs) }

        try soft.resetLockout()
        #expect(try soft.connect().unseal(sealed, auth: auth, pcrs: pcrs).exposed == Array("one".utf8))
    }

    @Test func aRightValueDoesNotResetTheCount() throws {
        let tpm = try soft.connect()
        let auth = try secret("right")
        let sealed = try tpm.seal(secret("one"), auth: auth)
        #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(sealed, auth: secret("wrong")) }
        _ = try tpm.unseal(sealed, auth: auth)
        #expect(try tpm.lockout.failedTries == 1)
    }

    @Test func aValueTooManyOrTooFewIsNotCounted() throws {
        let tpm = try soft.connect()
        let auth = try secret("right")
        for pcrs in [PCRSelection.none, .of(3)] {
            let with = try tpm.seal(secret("one"), auth: auth, pcrs: pcrs)
            let without = try tpm.seal(secret("one"), pcrs: pcrs)
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(with, pcrs: pcrs) }
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(without, auth: auth, pcrs: pcrs) }
        }
        #expect(try tpm.lockout.failedTries == 0)
    }

    @Test func whatHasNoValueIsUnsealedWhenLockedOut() throws {
        let tpm = try soft.connect()
        let plain = try tpm.seal(secret("plain"))
        let sealed = try tpm.seal(secret("one"), auth: secret("right"))
        for _ in 0..<(try tpm.lockout.maximumTries) {
            #expect(throws: TPMError.wrongAuthorization) { _ = try tpm.unseal(sealed, auth: secret("wrong")) }
        }
        #expect(try tpm.lockout.isLockedOut)
        #expect(try tpm.unseal(plain).exposed == Array("plain".utf8))
        // Sealing needs no authorization value either.
        _ = try tpm.seal(secret("another"), auth: secret("right"))
    }
}
