import Crypto
import Foundation
import TestSecrets
import Testing

@Suite struct SecretTests {
    @Test func holdsWhatItIsGiven() throws {
        #expect(try Secret(count: 5).exposed == [0, 0, 0, 0, 0])
        #expect(try secret([1, 2, 3]).exposed == [1, 2, 3])
        #expect(try Secret(random: 32).exposed != Secret(random: 32).exposed)
        #expect(try Secret(count: 0).exposed == [])
        let filled = try Secret(count: 3) { bytes in bytes.storeBytes(of: 7, toByteOffset: 1, as: UInt8.self) }
        #expect(filled.exposed == [0, 7, 0])
        #expect(try secret([1, 2, 3, 4]).slice(1..<3).exposed == [2, 3])
        #expect(try Secret(joining: secret([1, 2]), secret([3])).exposed == [1, 2, 3])
    }

    @Test func comparesWholeContents() throws {
        let one = try secret([1, 2, 3])
        let (same, other, shorter) = (
            one.equals(try one.copy()), one.equals(try secret([1, 2, 4])), one.equals(try secret([1, 2]))
        )
        #expect(same && !other && !shorter)
    }

    @Test func wipeLeavesZeros() throws {
        var one = try secret([1, 2, 3])
        one.wipe()
        #expect(one.exposed == [0, 0, 0])
    }

    /// Reads a freed cell through a copy of its address; the arena stays mapped.
    @Test func isWiped() throws {
        let address = try addressOfAFreedSecret()
        let bytes = unsafe UnsafeRawPointer(bitPattern: address)!
        // Another test may have taken the cell by now, but would not fill it with this value.
        var survivors = 0
        for offset in 0..<512 where unsafe bytes.load(fromByteOffset: offset, as: UInt8.self) == 0xa5 { survivors += 1 }
        #expect(survivors < 64)
    }

    private func addressOfAFreedSecret() throws -> UInt {
        let secret = try unsafe Secret(copying: [UInt8](repeating: 0xa5, count: 512).span.bytes)
        return address(of: secret)
    }

    /// The memory is locked ("lo"), left out of core files ("dd"), and has an inaccessible page on either side.
    @Test func isInLockedUndumpedMemoryBetweenGuardPages() throws {
        let secret = try Secret(random: 32)
        let address = address(of: secret)
        let mappings = try Mapping.all()
        let index = try #require(mappings.firstIndex { $0.range.contains(address) })
        #expect(mappings[index].flags.contains("lo"))
        #expect(mappings[index].flags.contains("dd"))
        #expect(mappings[index].lockedKiB > 0)
        #expect(mappings[index - 1].permissions == "---p")
        #expect(mappings[index - 1].range.upperBound == mappings[index].range.lowerBound)
        #expect(mappings[index + 1].permissions == "---p")
        #expect(mappings[index + 1].range.lowerBound == mappings[index].range.upperBound)
        _ = consume secret
    }

    @Test func initializingAgainIsHarmless() throws {
        try SecureHeap.initialize()
        try SecureHeap.initialize(size: 1 << 20)
        #expect(SecureHeap.used > 0)
    }

    /// OpenSSL's own memory, expanded keys included, comes out of the arena.
    @Test func ciphersLieInTheArena() throws {
        try SecureHeap.initialize()
        let before = SecureHeap.used
        var ciphers: [Keyed] = []
        for _ in 0..<50 { ciphers.append(try Keyed()) }
        #expect(SecureHeap.used >= before + 50 * 512)
        _ = consume ciphers
    }

    private final class Keyed {
        var cipher: BlockCipher
        init() throws {
            cipher = try BlockCipher()
            try cipher.setKey(Secret(random: 32), for: .seal)
        }
    }

    @Test func aFullHeapIsAnError() throws {
        #expect(throws: CryptoError.secureMemory("the locked memory for keys is full")) {
            _ = try Secret(count: 64 << 20)
        }
    }

    private func address(of secret: borrowing Secret) -> UInt {
        secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
    }
}

/// One entry of /proc/self/smaps.
private struct Mapping {
    var range: Range<UInt>
    var permissions: String
    var lockedKiB = 0
    var flags: [Substring] = []

    static func all() throws -> [Mapping] {
        var mappings: [Mapping] = []
        // The size cannot be used: the kernel reports 0.
        let smaps = try #require(try FileHandle(forReadingFrom: URL(filePath: "/proc/self/smaps")).readToEnd())
        for line in String(decoding: smaps, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            let bounds = words[0].split(separator: "-")
            if bounds.count == 2, let low = UInt(bounds[0], radix: 16), let high = UInt(bounds[1], radix: 16) {
                mappings.append(Mapping(range: low..<high, permissions: String(words[1])))
            } else if words[0] == "Locked:" {
                mappings[mappings.count - 1].lockedKiB = Int(words[1])!
            } else if words[0] == "VmFlags:" {
                mappings[mappings.count - 1].flags = Array(words.dropFirst())
            }
        }
        return mappings
    }
}
