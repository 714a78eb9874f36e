import Crypto
import Format
import TestSecrets

/// Stored blocks: their offsets, and what the cipher makes of them under a fixed key.
///
/// An input is the number of a block (8 bytes), a change to make afterwards (3 bytes), a nonce (16 bytes), and
/// plaintext, or bytes that are taken for a stored block.
final class BlockParser: FuzzedParser {
    private var cipher: BlockCipher
    private let key: Secret
    private static let volume = VolumeIdentifier([UInt8](1...16))
    private static let file = FileIdentifier([UInt8](33...48))

    init() throws {
        cipher = try BlockCipher()
        key = try secret([UInt8](repeating: 9, count: 32))
    }

    func run(_ input: [UInt8]) throws(Finding) {
        var reader = Reader(input)
        let number = reader.integer(bytes: 8)
        try measure(number)
        let (index, flipped) = (Int(reader.integer()), reader.byte())
        let stored = reader.remaining()
        try refuse(stored, as: number)
        guard stored.count >= BlockGeometry.nonceSize else { return }
        try roundTrip(stored, as: number, flipping: flipped, at: index)
    }

    private func measure(_ value: UInt64) throws(Finding) {
        let length = value % (FileHeader.largestLength + 1)
        let size = BlockGeometry.backingSize(forLength: length)
        try demand(BlockGeometry.storedLength(forBackingSize: size) == length, "\(length) bytes are not in \(size)")
        let count = BlockGeometry.blockCount(forLength: length)
        try demand(BlockGeometry.backingOffset(ofBlock: count) >= size, "\(length) bytes reach past block \(count)")
        try demand(length == 0 || BlockGeometry.block(at: length - 1) == count - 1, "byte \(length - 1) in no block")
        // Any size that a file can have.
        let most = BlockGeometry.storedLength(forBackingSize: value >> 1)
        try demand(BlockGeometry.backingSize(forLength: most) <= max(512, value >> 1), "\(most) bytes in \(value >> 1)")
    }

    private func data(of number: UInt64) -> [UInt8] {
        var data = [UInt8](repeating: 0, count: BlockGeometry.associatedDataSize)
        var elements = data.mutableSpan
        var span = unsafe elements.mutableBytes
        BlockGeometry.storeAssociatedData(volume: Self.volume, file: Self.file, block: number, into: &span)
        return data
    }

    /// Bytes that were not sealed do not open, whatever their size.
    private func refuse(_ stored: [UInt8], as number: UInt64) throws(Finding) {
        guard stored.count >= Int(BlockGeometry.overhead) else { return }
        try demand(try open(stored, as: number) == nil, "a block that was never sealed")
    }

    /// A sealed block opens; with one bit changed, or under another number, it does not.
    private func roundTrip(_ input: [UInt8], as number: UInt64, flipping: UInt8, at index: Int) throws(Finding) {
        let nonce = Array(input.prefix(BlockGeometry.nonceSize))
        let plain = Array(input.dropFirst(BlockGeometry.nonceSize))
        var stored = nonce + [UInt8](repeating: 0, count: plain.count + BlockGeometry.tagSize)
        try demandSuccess(of: "sealing") { () throws(CryptoError) in
            try cipher.setKey(key, for: .seal)
            var sealed = [UInt8](repeating: 0, count: plain.count + BlockGeometry.tagSize)
            var elements = sealed.mutableSpan
            var span = unsafe elements.mutableBytes
            try cipher.seal(
                unsafe plain.span.bytes, nonce: unsafe nonce.span.bytes,
                associatedData: unsafe data(of: number).span.bytes, into: &span)
            stored.replaceSubrange(BlockGeometry.nonceSize..., with: sealed)
        }
        try demand(try open(stored, as: number) == plain, "a block that opens as another, or not")
        try demand(try open(stored, as: number ^ 1) == nil, "a block that opens elsewhere")
        guard flipping != 0 else { return }
        stored[index % stored.count] ^= flipping
        try demand(try open(stored, as: number) == nil, "a block that was changed")
    }

    /// The plaintext of a stored block, nil if it is not authentic; then no plaintext may be left behind.
    private func open(_ stored: [UInt8], as number: UInt64) throws(Finding) -> [UInt8]? {
        let nonce = Array(stored.prefix(BlockGeometry.nonceSize))
        let sealed = Array(stored.dropFirst(BlockGeometry.nonceSize))
        var plain = [UInt8](repeating: 0xEE, count: sealed.count - BlockGeometry.tagSize)
        let result = Result { () throws(CryptoError) in
            try cipher.setKey(key, for: .open)
            var elements = plain.mutableSpan
            var span = unsafe elements.mutableBytes
            try cipher.open(
                unsafe sealed.span.bytes, nonce: unsafe nonce.span.bytes,
                associatedData: unsafe data(of: number).span.bytes, into: &span)
        }
        switch result {
        case .success: return plain
        case .failure(.notAuthentic):
            try demand(plain.allSatisfy { $0 == 0 }, "plaintext of a block that is not authentic")
            return nil
        case .failure(let error): throw Finding("opening a block: \(error)")
        }
    }
}
