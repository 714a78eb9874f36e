import Crypto
import SoftTPM
import TPM
import TestSecrets
import Testing

@Suite(.timeLimit(.minutes(2))) struct DamageTests {
    let soft: SoftTPM

    init() throws {
        soft = try SoftTPM()
    }

    /// Each byte is changed in three ways: one bit of it, another bit, all of it.
    @Test(arguments: [0x01, 0x80, 0xff] as [UInt8]) func everyChangedByteIsRefused(change: UInt8) throws {
        let tpm = try soft.connect()
        let auth = try secret("right")
        let whole = try tpm.seal(secret("one"), auth: auth, pcrs: .of(7)).encoded
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= change
            do {
                _ = try tpm.unseal(SealedSecret(decoding: bytes), auth: auth, pcrs: .of(7))
                Issue.record("byte \(index) may be changed")
            } catch TPMError.malformed, TPMError.foreign {
                continue
            } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        #expect(try tpm.lockout.failedTries == 0)
        #expect(try tpm.unseal(SealedSecret(decoding: whole), auth: auth, pcrs: .of(7)).exposed == Array("one".utf8))
    }

    @Test func partsOfTwoDoNotFit() throws {
        let tpm = try soft.connect()
        let first = try tpm.seal(secret("one")).encoded
        let second = try tpm.seal(secret("two")).encoded
        let end = 2 + Int(first[0])
        #expect(throws: TPMError.foreign) {
            _ = try tpm.unseal(SealedSecret(decoding: Array(first[..<end] + second[end...])))
        }
    }

    @Test func partsMayNotBePaddedOrTruncated() throws {
        let tpm = try soft.connect()
        let whole = try tpm.seal(secret("one")).encoded
        let end = 2 + Int(whole[0])
        let parts = [Array(whole[2..<end]), Array(whole[(end + 2)...])]
        for changed in 0...1 {
            for change in [parts[changed] + [0], Array(parts[changed].dropLast()), [0], [0, 0]] {
                var bytes: [UInt8] = []
                for (index, part) in parts.enumerated() {
                    let part = index == changed ? change : part
                    bytes += [UInt8(part.count), 0] + part
                }
                let sealed = try SealedSecret(decoding: bytes)
                #expect(throws: TPMError.foreign) { _ = try tpm.unseal(sealed) }
            }
        }
    }

    @Test func decodingIsExact() throws {
        let whole = try soft.connect().seal(secret("one"), auth: secret("right"), pcrs: .of(7)).encoded
        #expect(whole.count < SealedSecret.maximumSize)
        for count in whole.indices {
            #expect(throws: TPMError.malformed) { _ = try SealedSecret(decoding: Array(whole[..<count])) }
        }
        #expect(throws: TPMError.malformed) { _ = try SealedSecret(decoding: whole + [0]) }
        #expect(throws: TPMError.malformed) { _ = try SealedSecret(decoding: [0, 0, 0, 0]) }

        func filled(_ count: Int) -> [UInt8] {
            let rest = count - 5
            return [1, 0, 0xaa, UInt8(rest & 0xff), UInt8(rest >> 8)] + [UInt8](repeating: 0xbb, count: rest)
        }
        let largest = try SealedSecret(decoding: filled(1024))
        #expect(largest.encoded == filled(1024))
        #expect(throws: TPMError.foreign) { _ = try soft.connect().unseal(largest) }
        #expect(throws: TPMError.malformed) { _ = try SealedSecret(decoding: filled(1025)) }
    }
}
