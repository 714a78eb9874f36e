import Crypto
import Format
import Foundation
import TestSecrets
import Testing

@Suite struct NonceCipherTests {
    /// FIPS 197, appendix C.3.
    let key = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
    let plain = hex("00112233445566778899aabbccddeeff")
    let encrypted = hex("8ea2b7ca516745bfeafc49904b496089")

    @Test func standardVector() throws {
        var cipher = try NonceCipher()
        for count in 0...3 {
            let (several, sealed) = (repeated(plain, count), repeated(encrypted, count))
            try cipher.setKey(secret(key), for: .seal)
            let applied = try cipher.apply(several)
            #expect(applied == sealed, "each nonce is encrypted alone")
            try cipher.setKey(secret(key), for: .open)
            let opened = try cipher.apply(sealed)
            #expect(opened == several)
        }
    }

    private func repeated(_ nonce: [UInt8], _ count: Int) -> [UInt8] {
        Array(repeatElement(nonce, count: count).joined())
    }

    @Test func wrongSizesAreRefused() throws {
        var cipher = try NonceCipher()
        let plain = plain
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.apply(plain) }, "it has no key")
        #expect(
            try cipher.isInvalid { cipher throws(CryptoError) in try cipher.setKey(Secret(count: 16), for: .seal) })
        try cipher.setKey(secret(key), for: .seal)
        for count in [1, 15, 17, 31] {
            let bytes = [UInt8](repeating: 0, count: count)
            #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.apply(bytes) }, "\(count)")
        }
        cipher.clear()
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.apply(plain) }, "it has no key")
        try cipher.setKey(secret(key), for: .seal)
        let applied = try cipher.apply(plain)
        #expect(applied == encrypted)
    }

    private struct Vectors: Decodable {
        struct Numbers: Decodable {
            let nonceKey: String
            let cases: [Case]
        }
        struct Case: Decodable {
            let number: UInt64
            let random: String
            let nonce: String
        }
        let volumeID: String
        let fileID: String
        let fileKey: String
        let numbers: Numbers
    }

    /// The vectors that tools/make-vectors.py writes by docs/FORMAT.md alone.
    @Test func numberedBlocks() throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/blocks.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
        let nonceKey = try KeyDerivation.hkdf(
            secret(hex(vectors.fileKey)), salt: hex(vectors.volumeID),
            info: Array(BlockNumber.label.utf8) + hex(vectors.fileID), count: 32)
        #expect(nonceKey.exposed == hex(vectors.numbers.nonceKey))
        #expect(vectors.numbers.cases.last?.number == BlockNumber.highest)
        var cipher = try NonceCipher()
        for item in vectors.numbers.cases {
            var plain = [UInt8](repeating: 0xEE, count: 8) + hex(item.random)
            do {
                var elements = plain.mutableSpan
                var span = unsafe elements.mutableBytes
                BlockNumber.store(item.number, inNonce: 0, of: &span)
            }
            try cipher.setKey(nonceKey, for: .seal)
            let applied = try cipher.apply(plain)
            #expect(applied == hex(item.nonce))
            try cipher.setKey(nonceKey, for: .open)
            let opened = try cipher.apply(hex(item.nonce))
            #expect(opened == plain)
            let number = unsafe BlockNumber.inNonce(0, of: opened.span.bytes)
            #expect(number == item.number)
        }
    }
}

extension NonceCipher {
    fileprivate mutating func apply(_ nonces: [UInt8]) throws(CryptoError) -> [UInt8] {
        var nonces = nonces
        var elements = nonces.mutableSpan
        var span = unsafe elements.mutableBytes
        try apply(to: &span)
        return nonces
    }

    fileprivate mutating func isInvalid(_ body: (inout NonceCipher) throws(CryptoError) -> Void) throws -> Bool {
        do throws(CryptoError) {
            try body(&self)
            return false
        } catch {
            guard case .invalidInput = error else { return false }
            return true
        }
    }
}
