import Crypto
import TestSecrets
import Testing

@Suite struct HashTests {
    @Test func sha256OfAFewBytes() {
        #expect(
            sha256([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        )
        #expect(
            sha256(Array("abc".utf8))
                == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    }

    struct Vector: Sendable {
        var key: [UInt8]
        var message: [UInt8]
        var tag: String
    }

    /// RFC 4231, test cases 1 to 4, 6 and 7.
    static let vectors = [
        Vector(
            key: [UInt8](repeating: 0x0b, count: 20), message: Array("Hi There".utf8),
            tag: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Vector(
            key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
            tag: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Vector(
            key: [UInt8](repeating: 0xaa, count: 20), message: [UInt8](repeating: 0xdd, count: 50),
            tag: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        Vector(
            key: Array(1...25), message: [UInt8](repeating: 0xcd, count: 50),
            tag: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        Vector(
            key: [UInt8](repeating: 0xaa, count: 131),
            message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            tag: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        Vector(
            key: [UInt8](repeating: 0xaa, count: 131),
            message: Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            tag: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    @Test(arguments: vectors) func authenticator(_ vector: Vector) throws {
        let authenticator = try MessageAuthenticator(key: secret(vector.key))
        let tag = authenticator.tag(of: vector.message)
        #expect(tag == hex(vector.tag))
        let (head, tail) = (Array(vector.message.prefix(5)), Array(vector.message.dropFirst(5)))
        #expect(authenticator.tag(of: head, tail) == tag)
        #expect(try authenticator.secretTag(of: vector.message).exposed == tag)
        #expect(try authenticator.secretTag(of: head, tail).exposed == tag)
        #expect(authenticator.verify(tag, of: vector.message))
        for index in tag.indices {
            #expect(!authenticator.verify(flipping(index, in: tag), of: vector.message))
        }
        #expect(!authenticator.verify(Array(tag.prefix(31)), of: vector.message))
        #expect(!authenticator.verify(tag, of: flipping(0, in: vector.message)))
    }
}

@Suite struct PolynomialHashTests {
    /// GMAC with a nonce of 16 zeros, computed by the Python package cryptography.
    @Test(arguments: [
        (0, "56d4352cf736c5da72108d33917df4a5"), (3, "5060ee5dcc5b15e5afb0f706de3db6f0"),
        (132_096, "118a044aa749ea981cf945fbbcc6d025"),
    ]) func ofKnownMessages(count: Int, expected: String) throws {
        let message = count == 3 ? Array("abc".utf8) : (0..<count).map { UInt8($0 % 251) }
        var hash = try PolynomialHash(key: try secret(Array(0..<32)))
        for _ in 0..<2 { #expect(try hash.bytes(of: message) == hex(expected)) }
    }

    @Test func everyBitAndTheKeyCount() throws {
        let message = [UInt8](repeating: 7, count: 4128)
        var hash = try PolynomialHash(key: try secret([UInt8](repeating: 1, count: 32)))
        var other = try PolynomialHash(key: try secret([UInt8](repeating: 2, count: 32)))
        var seen: Set = [try hash.bytes(of: message), try other.bytes(of: message)]
        for index in stride(from: 0, to: message.count, by: 37) {
            seen.insert(try hash.bytes(of: flipping(index, in: message)))
        }
        seen.insert(try hash.bytes(of: message + [0]))
        #expect(seen.count == 2 + (message.count + 36) / 37 + 1)
    }
}

extension PolynomialHash {
    fileprivate mutating func bytes(of message: [UInt8]) throws -> [UInt8] {
        let hash: Secret = try unsafe self.hash(message.span.bytes)
        return hash.exposed
    }
}
