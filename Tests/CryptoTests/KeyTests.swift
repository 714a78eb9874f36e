import Crypto
import TestSecrets
import Testing

@Suite struct KeyDerivationTests {
    /// RFC 5869, test cases 1 to 3.
    @Test func hkdfVectors() throws {
        let first = try KeyDerivation.hkdf(
            secret([UInt8](repeating: 0x0b, count: 22)), salt: hex("000102030405060708090a0b0c"),
            info: hex("f0f1f2f3f4f5f6f7f8f9"), count: 42)
        #expect(
            first.exposed
                == hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
        let second = try KeyDerivation.hkdf(
            secret(Array(0...0x4f)), salt: Array(0x60...0xaf), info: Array(0xb0...0xff), count: 82
        )
        #expect(
            second.exposed
                == hex(
                    "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
                        + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
                        + "cc30c58179ec3e87c14c01d5c1f3434f1d87"))
        let third = try KeyDerivation.hkdf(
            secret([UInt8](repeating: 0x0b, count: 22)), salt: [], info: [], count: 42)
        #expect(
            third.exposed
                == hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"))
    }

    @Test func hkdfTakesASecretSalt() throws {
        let key = try Secret(random: 32)
        let salt = Random.bytes(32)
        let one = try KeyDerivation.hkdf(key, salt: salt, info: [1], count: 64)
        let other = try KeyDerivation.hkdf(key, salt: secret(salt), info: [1], count: 64)
        #expect(one.exposed == other.exposed)
        #expect(
            !one.equals(try KeyDerivation.hkdf(key, salt: salt, info: [2], count: 64))
        )
    }

    @Test(arguments: [0, -1, 255 * 32 + 1]) func hkdfHasBounds(count: Int) throws {
        #expect(throws: CryptoError.self) {
            _ = try KeyDerivation.hkdf(
                Secret(count: 32), salt: [], info: [], count: count)
        }
    }

    /// RFC 9106, section 5.3.
    @Test func argon2idVector() throws {
        let tag = try unsafe Argon2id.derive(
            secret([UInt8](repeating: 1, count: 32)), salt: [UInt8](repeating: 2, count: 16).span.bytes,
            secret: [UInt8](repeating: 3, count: 8).span.bytes,
            associatedData: [UInt8](repeating: 4, count: 12).span.bytes,
            cost: Argon2Cost(memoryKiB: 32, passes: 3, lanes: 4), count: 32)
        #expect(tag.exposed == hex("0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"))
    }

    @Test func argon2idRefusesNonsense() throws {
        let passcode = try secret(Array("passcode".utf8))
        let salt = try Secret(random: 32)
        for cost in [
            Argon2Cost(memoryKiB: 0, passes: 1, lanes: 1), Argon2Cost(memoryKiB: 64, passes: 0, lanes: 1),
            Argon2Cost(memoryKiB: 64, passes: 1, lanes: 0),
        ] {
            #expect(throws: CryptoError.self) { _ = try Argon2id.derive(passcode, salt: salt, cost: cost, count: 32) }
        }
        #expect(throws: CryptoError.self) {
            _ = try Argon2id.derive(
                passcode, salt: Secret(count: 7), cost: Argon2Cost(memoryKiB: 64, passes: 1, lanes: 1), count: 32)
        }
    }
}

@Suite struct KeyWrapTests {
    let wrappingKey = Array(0...0x1f) as [UInt8]

    /// RFC 3394, sections 4.3, 4.5 and 4.6.
    @Test(arguments: [
        (16, "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"),
        (24, "a8f9bc1612c68b3ff6e6f4fbe30e71e4769c8b80a32cb8958cd5d17d6b254da1"),
        (32, "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"),
    ]) func vector(count: Int, wrapped: String) throws {
        let keyData = hex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
        let key = try secret(Array(keyData.prefix(count)))
        #expect(try KeyWrap.wrap(key, under: secret(wrappingKey)) == hex(wrapped))
        let unwrapped = try KeyWrap.unwrap(hex(wrapped), under: secret(wrappingKey))
        #expect(unwrapped.exposed == key.exposed)
    }

    @Test func everyChangeIsRefused() throws {
        let under = try secret(wrappingKey)
        let wrapped = try KeyWrap.wrap(Secret(random: 192), under: under)
        for index in wrapped.indices {
            #expect(throws: CryptoError.notAuthentic) {
                _ = try KeyWrap.unwrap(flipping(index, in: wrapped), under: under)
            }
        }
        for count in wrapped.indices {
            #expect(throws: CryptoError.notAuthentic) {
                _ = try KeyWrap.unwrap(Array(wrapped.prefix(count)), under: under)
            }
        }
        #expect(throws: CryptoError.notAuthentic) {
            _ = try KeyWrap.unwrap(wrapped, under: Secret(random: 32))
        }
        #expect(throws: CryptoError.self) { _ = try KeyWrap.wrap(Secret(count: 20), under: under) }
        #expect(throws: CryptoError.self) { _ = try KeyWrap.wrap(Secret(count: 32), under: Secret(count: 16)) }
    }
}

@Suite struct X25519Tests {
    let alice = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    let alicePublic = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    let bob = hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    let bobPublic = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")

    /// RFC 7748, section 6.1.
    @Test func agreement() throws {
        let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        #expect(try X25519.publicKey(of: secret(alice)) == alicePublic)
        #expect(try X25519.publicKey(of: secret(bob)) == bobPublic)
        #expect(try X25519.agree(secret(alice), bobPublic).exposed == shared)
        #expect(try X25519.agree(secret(bob), alicePublic).exposed == shared)
    }

    /// RFC 7748, section 5.2: scalar multiplication.
    @Test func multiplication() throws {
        #expect(
            try X25519.agree(
                secret(hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")),
                hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
            ).exposed == hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"))
    }

    @Test func freshPairsAgree() throws {
        let one = try X25519.generate()
        let other = try X25519.generate()
        let here = try X25519.agree(one.privateKey, other.publicKey)
        let there = try X25519.agree(other.privateKey, one.publicKey)
        #expect(here.exposed == there.exposed)
        #expect(one.publicKey != other.publicKey)
    }

    /// Points of small order, RFC 7748 section 6.1: the result would be zeros whatever the private key.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]) func smallOrderIsRefused(point: String) throws {
        #expect(throws: CryptoError.notAuthentic) { _ = try X25519.agree(secret(bob), hex(point)) }
    }

    @Test func wrongSizesAreRefused() throws {
        #expect(throws: CryptoError.self) { _ = try X25519.agree(secret(bob), [1, 2]) }
        #expect(throws: CryptoError.self) { _ = try X25519.publicKey(of: Secret(count: 31)) }
    }
}
