import Crypto
import TestSecrets
import Testing

@Suite struct BlockCipherTests {
    struct Vector: Sendable {
        var nonce: String
        var sealed: String
    }

    /// Wycheproof, aes_gcm_test: tests 240, 242 and 246, whose counters wrap; 39 zeros under one key.
    static let vectors = [
        Vector(
            nonce: "5c2ea9b695fcf6e264b96074d6bfa572",
            sealed: "28e1c5232f4ee8161dbe4c036309e0b3254e9212bef0a93431ce5e5604c8f6a73c18a3183018b770"
                + "d5808a1bd11a01129bf3c6919aff2339"),
        Vector(
            nonce: "ce20a7e870696a5e68533c465bad2ba1",
            sealed: "4f4350565d91d9aa8c5f4048550492ad6d6fdabf66da5d1e2af7bfe1a8aadaa0baa3de38a41d9713"
                + "155da6441ec071ef2d8e6cffbacc1c7c"),
        Vector(
            nonce: "b37bbad104928ae89221d3520c2682e0",
            sealed: "16929b773051f12b0adac95f65e21a7f36b3fbecd09178d04527fb37544f5579d20d60a41266f685"
                + "ca448bb7e52e897eca234ef343d057d0"),
    ]
    let key = hex("00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f")

    @Test(arguments: vectors) func vector(_ vector: Vector) throws {
        var cipher = try BlockCipher()
        try cipher.setKey(secret(key), for: .seal)
        let sealed = try cipher.seal([UInt8](repeating: 0, count: 40), nonce: hex(vector.nonce), data: [])
        #expect(sealed == hex(vector.sealed))
        try cipher.setKey(secret(key), for: .open)
        let plain = try cipher.open(sealed, nonce: hex(vector.nonce), data: [])
        #expect(plain == [UInt8](repeating: 0, count: 40))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 4095, 4096]) func comesBack(count: Int) throws {
        var cipher = try BlockCipher()
        let key = try Secret(random: 32)
        let plain = Random.bytes(count)
        let nonce = Random.bytes(16)
        try cipher.setKey(key, for: .seal)
        let sealed = try cipher.seal(plain, nonce: nonce, data: [1, 2, 3])
        let again = try cipher.seal(plain, nonce: nonce, data: [1, 2, 3])
        #expect(sealed == again, "the context carries nothing over")
        try cipher.setKey(key, for: .open)
        let opened = try cipher.open(sealed, nonce: nonce, data: [1, 2, 3])
        #expect(opened == plain)
    }

    @Test func everyChangeIsRefusedAndNothingIsLeft() throws {
        var cipher = try BlockCipher()
        let key = try Secret(random: 32)
        let nonce = Random.bytes(16)
        let data = Random.bytes(40)
        try cipher.setKey(key, for: .seal)
        let sealed = try cipher.seal(Random.bytes(100), nonce: nonce, data: data)
        try cipher.setKey(key, for: .open)
        for index in sealed.indices {
            #expect(try cipher.refuses(flipping(index, in: sealed), nonce: nonce, data: data))
        }
        for index in nonce.indices {
            #expect(try cipher.refuses(sealed, nonce: flipping(index, in: nonce), data: data))
        }
        for index in data.indices {
            #expect(try cipher.refuses(sealed, nonce: nonce, data: flipping(index, in: data)))
        }
        #expect(try cipher.refuses(sealed, nonce: nonce, data: []))
        #expect(try cipher.refuses(Array(sealed.dropLast()), nonce: nonce, data: data))
        // The context still works after these failures.
        _ = try cipher.open(sealed, nonce: nonce, data: data)
        try cipher.setKey(Secret(random: 32), for: .open)
        #expect(try cipher.refuses(sealed, nonce: nonce, data: data))
    }

    @Test func wrongSizesAndDirectionsAreRefused() throws {
        var cipher = try BlockCipher()
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.seal([1], nonce: [], data: []) })
        let nonce = [UInt8](repeating: 0, count: 16)
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.seal([1], nonce: nonce, data: []) })
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in try cipher.setKey(Secret(count: 16), for: .seal) })
        try cipher.setKey(Secret(random: 32), for: .open)
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.seal([1], nonce: nonce, data: []) })
        try cipher.setKey(Secret(random: 32), for: .seal)
        cipher.clear()
        #expect(try cipher.isInvalid { cipher throws(CryptoError) in _ = try cipher.seal([1], nonce: nonce, data: []) })
    }
}

extension BlockCipher {
    fileprivate mutating func seal(_ plain: [UInt8], nonce: [UInt8], data: [UInt8]) throws(CryptoError) -> [UInt8] {
        var sealed = [UInt8](repeating: 0xee, count: plain.count + 16)
        var span = sealed.mutableSpan
        var output = unsafe span.mutableBytes
        try unsafe seal(plain.span.bytes, nonce: nonce.span.bytes, associatedData: data.span.bytes, into: &output)
        return sealed
    }

    fileprivate mutating func open(_ sealed: [UInt8], nonce: [UInt8], data: [UInt8]) throws(CryptoError) -> [UInt8] {
        var plain = [UInt8](repeating: 0xee, count: sealed.count - 16)
        var span = plain.mutableSpan
        var output = unsafe span.mutableBytes
        try unsafe open(sealed.span.bytes, nonce: nonce.span.bytes, associatedData: data.span.bytes, into: &output)
        return plain
    }

    /// The result is notAuthentic, and the output is wiped.
    fileprivate mutating func refuses(_ sealed: [UInt8], nonce: [UInt8], data: [UInt8]) throws -> Bool {
        var plain = [UInt8](repeating: 0xee, count: sealed.count - 16)
        do throws(CryptoError) {
            var span = plain.mutableSpan
            var output = unsafe span.mutableBytes
            try unsafe open(sealed.span.bytes, nonce: nonce.span.bytes, associatedData: data.span.bytes, into: &output)
            return false
        } catch {
            return error == .notAuthentic && plain.allSatisfy { $0 == 0 }
        }
    }

    fileprivate mutating func isInvalid(_ body: (inout BlockCipher) throws(CryptoError) -> Void) throws -> Bool {
        do throws(CryptoError) {
            try body(&self)
            return false
        } catch {
            guard case .invalidInput = error else { return false }
            return true
        }
    }
}
