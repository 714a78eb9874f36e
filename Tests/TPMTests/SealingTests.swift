import Crypto
import SoftTPM
import TPM
import TestSecrets
import Testing

/// Each with a TPM of its own.
@Suite(.timeLimit(.minutes(10))) struct SealingTests {
    let soft: SoftTPM

    init() throws {
        soft = try SoftTPM()
    }

    @Test(arguments: [1, 32, 127, 128]) func whatIsSealedIsUnsealed(count: Int) throws {
        let tpm = try soft.connect()
        let secret = try Secret(random: count)
        let sealed = try tpm.seal(secret)
        #expect(try tpm.unseal(sealed).exposed == secret.exposed)
        let decoded = try SealedSecret(decoding: sealed.encoded)
        #expect(decoded == sealed)
        #expect(try tpm.unseal(decoded).exposed == secret.exposed)
    }

    @Test(arguments: [1, 20, 32]) func withAnAuthorizationValue(count: Int) throws {
        let tpm = try soft.connect()
        let secret = try Secret(random: 32)
        let auth = try Secret(random: count)
        let sealed = try tpm.seal(secret, auth: auth)
        #expect(try tpm.unseal(sealed, auth: auth).exposed == secret.exposed)
        #expect(try tpm.lockout.failedTries == 0)
    }

    @Test func manyTimesOver() throws {
        let tpm = try soft.connect()
        let auth = try Secret(random: 32)
        let sealed = try tpm.seal(secret("one"), auth: auth, pcrs: .of(7))
        let used = SecureHeap.used
        // A TPM has room for three objects and three sessions: one that is not flushed soon makes a call fail.
        for _ in 0..<12 {
            #expect(try tpm.unseal(sealed, auth: auth, pcrs: .of(7)).exposed == Array("one".utf8))
            #expect(throws: TPMError.pcrsDiffer) { _ = try tpm.unseal(sealed, auth: auth, pcrs: .of(8)) }
            _ = try tpm.seal(secret("another"), pcrs: .of(0))
        }
        #expect(SecureHeap.used < used + 1 << 20)
    }

    @Test func sizesAreBounded() throws {
        let tpm = try soft.connect()
        let auth = try Secret(random: 32)
        for count in [0, 129] {
            #expect(throws: TPMError.invalidInput("a secret to seal has 1 to 128 bytes")) {
                _ = try tpm.seal(Secret(count: count))
            }
        }
        for count in [0, 33] {
            #expect(throws: TPMError.invalidInput("an authorization value has 1 to 32 bytes")) {
                _ = try tpm.seal(auth, auth: Secret(count: count))
            }
        }
        #expect(throws: TPMError.invalidInput("an authorization value of zeros is none")) {
            _ = try tpm.seal(auth, auth: Secret(count: 32))
        }
    }

    @Test func isNotUnsealedElsewhere() throws {
        let secret = try Secret(random: 32)
        let auth = try Secret(random: 32)
        let sealed = try soft.connect().seal(secret, auth: auth)
        let elsewhere = try SoftTPM()
        defer { elsewhere.switchOff() }
        let other = try elsewhere.connect()
        #expect(throws: TPMError.foreign) { _ = try other.unseal(sealed, auth: auth) }
        #expect(try other.lockout.failedTries == 0)
    }

    @Test func isWorthlessOnceTheTPMIsCleared() throws {
        let tpm = try soft.connect()
        let sealed = try tpm.seal(secret("one"))
        try soft.clear()
        #expect(throws: TPMError.foreign) { _ = try tpm.unseal(sealed) }
    }

    @Test func outlivesALossOfPower() throws {
        let secret = try Secret(random: 32)
        let auth = try Secret(random: 32)
        let tpm = try soft.connect()
        let plain = try tpm.seal(secret)
        let authorized = try tpm.seal(secret, auth: auth, pcrs: .of(0, 7))
        try soft.powerCycle()
        let later = try soft.connect()
        #expect(try later.unseal(plain).exposed == secret.exposed)
        #expect(try later.unseal(authorized, auth: auth, pcrs: .of(0, 7)).exposed == secret.exposed)
    }

    @Test func saysWhoMadeIt() throws {
        let name = try soft.connect().name
        #expect(name.hasPrefix("IBM SW"))
        #expect(name.utf8.allSatisfy { 0x20...0x7e ~= $0 })
    }
}
