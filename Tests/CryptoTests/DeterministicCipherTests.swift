import Crypto
import Foundation
import TestSecrets
import Testing

@Suite struct DeterministicCipherTests {
    let cipher: DeterministicCipher
    let a = hex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100")
    let b = hex("102030405060708090a0")
    let c = hex("09f911029d74e35bd84156c5635688c0")
    let plain = Array("this is some plaintext to encrypt using SIV-AES".utf8)

    init() throws {
        cipher = try DeterministicCipher(key: secret((0xc0...0xff).reversed().map { UInt8($0) }))
    }

    /// Wycheproof, aes_siv_cmac_test: tests 303 and 305.
    @Test func wycheproof() throws {
        let long = try DeterministicCipher(
            key: secret(
                hex(
                    "27faf97fb303aa4f2f364edd23997f4c77b8e51ebb8293c59dfb1d24f0fb629f"
                        + "6c820fc2d91bf48f0035eeec347e37ec4fb0cb36102bcdc5a248c47a2f97eab9")))
        let sealed = try long.seal(
            hex("6b1db0f5a43376885002dc98bd556f1dac9b66b66213a9fa6069df995a123384"),
            associatedData: hex("cc94f64e14df90265f7f12a8a0386d0a"))
        #expect(
            sealed
                == hex(
                    "d0016d675b49f11ea873707412d45709b7703a028a0cfc312cf61cbe22b91e3cf20b7d4c9308ee15f18b4eba00889284"))
        let short = try DeterministicCipher(
            key: secret(
                hex(
                    "e2c5662bb18fbb411d0304e4241db073fe60a4704fee290073513038a22b4cd5"
                        + "42580b2b4edbc37e3de01c0cb61abcad46986cdc491ce9e5ae5af223ff58b953")))
        let one = try short.seal(
            [0x0d], associatedData: hex("fab912dec29a34aabfaef176"))
        #expect(one == hex("1c6969ecb15741a9959b7a8492250e391a"))
    }

    /// The inputs of RFC 5297 A.2 under a key of 64 bytes; the RFC has vectors for 32 only. The outputs are those of
    /// an implementation of S2V over AES-ECB that yields the RFC's own vectors.
    @Test func components() throws {
        #expect(
            try cipher.seal(plain, associatedData: a)
                == hex(
                    "75821a6355ad23eabe558a98294444a1da5584499c95f1455fc21d4f18e3187f"
                        + "d41256c488b3aed56672e4cc57130cbc6f00bd5435256a534310f0680d455d"))
        #expect(
            try cipher.seal(plain, associatedData: a, b)
                == hex(
                    "833c4140a1fbd9c22bc6a5d69ad74cccaa344fdee09dfd762c477e56bdb4fa28"
                        + "997e64858bbb385705c830725407b15da2d7837f4dd8e432741a444a24758e"))
        #expect(
            try cipher.seal(plain, associatedData: a, b, c)
                == hex(
                    "1f74c3f617fc93c7244fe63734ad410a3f615c51643402789c3dde8d09c56ad8"
                        + "1c6996e341fa863b3541cd39974a1f689a0cb578d6ba05845fd9766d34a483"))
        #expect(
            try cipher.seal(Array(plain.prefix(5)), associatedData: a, b)
                == hex("96b8d832166573fd6df97dc431398e7d6aa823837e"))
    }

    @Test func opensOnlyWhatItSealed() throws {
        let sealed = try cipher.seal(plain, associatedData: a, b)
        #expect(try cipher.open(sealed, associatedData: a, b) == plain)
        for index in sealed.indices {
            #expect(throws: CryptoError.notAuthentic) {
                try cipher.open(flipping(index, in: sealed), associatedData: a, b)
            }
        }
        for count in sealed.indices {
            #expect(throws: CryptoError.notAuthentic) {
                try cipher.open(Array(sealed.prefix(count)), associatedData: a, b)
            }
        }
        #expect(throws: CryptoError.notAuthentic) {
            try cipher.open(sealed, associatedData: a)
        }
        #expect(throws: CryptoError.notAuthentic) {
            try cipher.open(sealed, associatedData: b, a)
        }
        #expect(throws: CryptoError.notAuthentic) {
            try cipher.open(sealed, associatedData: (a + b))
        }
    }

    /// A context handles one message after the other and carries nothing over.
    @Test func messagesFollowEachOther() throws {
        let first = try cipher.seal([1], associatedData: a)
        let second = try cipher.seal([2], associatedData: a)
        #expect(first.prefix(16) != second.prefix(16))
        #expect(throws: CryptoError.notAuthentic) {
            try cipher.open(Array(first.prefix(16)) + second.dropFirst(16), associatedData: a)
        }
        #expect(try cipher.open(first, associatedData: a) == [1])
        #expect(try cipher.seal([1], associatedData: a) == first)
    }

    /// Lengths around AES's blocks and CMAC's batches.
    @Test(arguments: Array(0...33) + Array(126...147) + [255, 4096, 65_535]) func comesBack(count: Int) throws {
        let plain = Random.bytes(count)
        let data = Random.bytes(count)
        let sealed = try cipher.seal(plain, associatedData: data, a)
        #expect(sealed.count == count + 16)
        #expect(try cipher.open(sealed, associatedData: data, a) == plain)
        #expect(throws: CryptoError.notAuthentic) { try cipher.open(sealed, associatedData: a, data) }
        #expect(throws: CryptoError.notAuthentic) {
            try cipher.open(flipping(count, in: sealed), associatedData: data, a)
        }
    }

    /// Wycheproof, aes_siv_cmac_test: tests 296, with an empty component of associated data, and 299.
    @Test func nothingIsAMessageToo() throws {
        let one = try DeterministicCipher(
            key: secret(
                hex(
                    "bc7635c1fd566aa8357fd103714bfaee1c9e5b3c578b3980401a981030254a54"
                        + "b1756a8c96e600b7252fd0aab12f39d115d256b3f3e7c2c41a7fece72ba7c3c4")))
        #expect(try one.seal([], associatedData: []) == hex("44b1c6fe8a8c07dee5377b161f283c31"))
        let other = try DeterministicCipher(
            key: secret(
                hex(
                    "0b6aaf05f9b5221e539940cd83cb29d2bcc7a0aa472d8fc67bedd0108869394e"
                        + "33c9f233d4b2cc9c6a59e8ce9cd268a0f3f2857e08fe1eb329ef347dace1557d")))
        let sealed = try other.seal([], associatedData: hex("76aade95964f074c693886f245fa57f9"))
        #expect(sealed == hex("f1ad6ea998a2a438acaf90bad0cb9f9f"))
        #expect(try other.open(sealed, associatedData: hex("76aade95964f074c693886f245fa57f9")) == [])
    }

    @Test func keysHaveOneSize() throws {
        #expect(throws: CryptoError.self) { _ = try DeterministicCipher(key: Secret(count: 32)) }
    }

    @Test func threadsShareIt() throws {
        let cipher = cipher
        let wanted = try cipher.seal([7], associatedData: [1])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<500 {
                let sealed = try? cipher.seal([7], associatedData: [1])
                #expect(sealed == wanted)
            }
        }
    }
}
