import Crypto
import Dispatch
import Format
import TestSecrets
import Testing

@testable import Keybag

@Suite struct KeyRingTests {
    let volume = VolumeIdentifier(Random.bytes(16))
    let file = FileIdentifier(Random.bytes(16))

    private func keys(_ privateKey: borrowing Secret) throws -> ClassKeys {
        ClassKeys(
            complete: try Secret(random: 32), completeUnlessOpenPrivate: try X25519.PrivateKey(privateKey),
            completeUntilFirstUserAuthentication: try Secret(random: 32), none: try Secret(random: 32))
    }

    private func ring() throws -> KeyRing {
        let pair = try X25519.generate()
        let ring = KeyRing(volume: volume, publicKey: pair.publicKey)
        ring.install(try keys(pair.privateKey))
        return ring
    }

    @Test(arguments: ProtectionClass.allCases) func wrapsAndUnwraps(_ protectionClass: ProtectionClass) throws {
        let ring = try ring()
        let key = try Secret(random: 32)
        let wrap = try ring.wrap(key, file: file, class: protectionClass)
        #expect(wrap.algorithm == (protectionClass == .completeUnlessOpen ? 2 : 1))
        #expect(wrap.bytes.count == (protectionClass == .completeUnlessOpen ? 72 : 40))
        #expect(try ring.unwrap(wrap, file: file, class: protectionClass).exposed == key.exposed)

        for index in wrap.bytes.indices {
            // The curve ignores the top bit of an X25519 public key; the key derivation does not.
            let bad = FileKeyWrap(algorithm: wrap.algorithm, bytes: flipping(index, in: wrap.bytes))
            #expect(throws: KeyRingError.notAuthentic) { _ = try ring.unwrap(bad, file: file, class: protectionClass) }
        }
        for count in wrap.bytes.indices {
            let bad = FileKeyWrap(algorithm: wrap.algorithm, bytes: Array(wrap.bytes.prefix(count)))
            #expect(throws: KeyRingError.notAuthentic) { _ = try ring.unwrap(bad, file: file, class: protectionClass) }
        }
        for other in ProtectionClass.allCases where other != protectionClass {
            #expect(throws: KeyRingError.notAuthentic) { _ = try ring.unwrap(wrap, file: file, class: other) }
        }
        #expect(throws: KeyRingError.notAuthentic) { _ = try ring.unwrap(wrap, file: .zero, class: protectionClass) }
        let unknown = FileKeyWrap(algorithm: 3, bytes: wrap.bytes)
        #expect(throws: KeyRingError.notAuthentic) { _ = try ring.unwrap(unknown, file: file, class: protectionClass) }
    }

    /// Class B is asymmetric: files are made while locked, and read after unlocking.
    @Test func createsInBWhileLocked() throws {
        let pair = try X25519.generate()
        let ring = KeyRing(volume: volume, publicKey: pair.publicKey)
        #expect(ring.available.isEmpty && ring.canCreate(.completeUnlessOpen))
        let key = try Secret(random: 32)
        let wrap = try ring.wrap(key, file: file, class: .completeUnlessOpen)
        let again = try ring.wrap(key, file: file, class: .completeUnlessOpen)
        #expect(wrap != again, "each wrap has an ephemeral key of its own")
        #expect(throws: KeyRingError.keyUnavailable) {
            _ = try ring.unwrap(wrap, file: file, class: .completeUnlessOpen)
        }
        ring.install(try keys(pair.privateKey))
        #expect(try ring.unwrap(wrap, file: file, class: .completeUnlessOpen).exposed == key.exposed)
        ring.wipe([.completeUnlessOpen])
        #expect(throws: KeyRingError.keyUnavailable) {
            _ = try ring.unwrap(wrap, file: file, class: .completeUnlessOpen)
        }
    }

    @Test func anEmptyRingHasNothing() throws {
        let ring = KeyRing(volume: volume)
        for protectionClass in ProtectionClass.allCases {
            #expect(!ring.has(protectionClass) && !ring.canCreate(protectionClass))
            #expect(throws: KeyRingError.keyUnavailable) {
                _ = try ring.wrap(Secret(random: 32), file: file, class: protectionClass)
            }
        }
    }

    @Test func wipingTakesTheKeyOutOfMemory() throws {
        let ring = KeyRing(volume: volume)
        let pattern = Random.bytes(32)
        let keys = ClassKeys(
            complete: try secret(pattern), completeUnlessOpenPrivate: try X25519.PrivateKey(Secret(random: 32)),
            completeUntilFirstUserAuthentication: try Secret(random: 32), none: try Secret(random: 32))
        let address = keys.complete.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        ring.install(keys)
        // The ring holds these same bytes, not a copy of them.
        let bytes = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: 32)
        #expect(unsafe Array(bytes) == pattern)
        ring.wipe([.complete])
        // Another test may have taken the cell by now.
        #expect(unsafe Array(bytes[16...]) != Array(pattern[16...]))
        #expect(ring.available == [.completeUnlessOpen, .completeUntilFirstUserAuthentication, .none])
    }

    @Test func threadsShareIt() throws {
        let pair = try X25519.generate()
        let ring = KeyRing(volume: volume, publicKey: pair.publicKey)
        ring.install(try keys(pair.privateKey))
        let key = try Secret(random: 32).exposed
        let wrap = try ring.wrap(secret(key), file: file, class: .complete)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for _ in 0..<300 {
                if thread == 0 {
                    ring.wipe([.completeUntilFirstUserAuthentication])
                } else {
                    let unwrapped = try? ring.unwrap(wrap, file: file, class: .complete).exposed
                    #expect(unwrapped == key)
                }
            }
        }
    }
}
