import Crypto
import Format
import Keybag
import Posix
import TestSecrets
import TestVaults
import Vault

/// A file of class D in a planted vault, with a header and blocks as the input says.
struct PlantedFile {
    static let name: Name = "file"
    static let identifier = FileIdentifier([UInt8](33...48))
    static let storedSize = Int(BlockGeometry.storedBlockSize)
    static let blockSize = Int(BlockGeometry.blockSize)

    /// A few bytes longer than everything below it: an input's fields can be small and still reach across this length.
    static let mostBlocks = 6

    var header: FileHeader
    /// The number of plaintext bytes of each stored block; a hole has none.
    var sizes: [Int] = []
    /// The bytes behind the header.
    var area: [UInt8] = []

    /// Takes length, provisional length, first sparse block, the blocks, the size, and changes of single bytes.
    init(_ reader: inout Reader, in planted: PlantedVault, sealer: inout BlockSealer) throws(Finding) {
        let wrap = try sealer.wrap(in: planted)
        let binding = NameBinding(planted.keys.bindings.tag(of: PlantedVault.rootID.bytes, Self.name.bytes))
        header = FileHeader(
            volume: PlantedVault.volumeID, file: Self.identifier,
            protection: FileProtection(
                protectionClass: .none, isExplicit: false, wrapAlgorithm: wrap.algorithm, wrap: wrap.bytes),
            binding: binding)
        header.generation = 7
        header.length = reader.integer(bytes: 3) % UInt64(Self.mostBlocks * Self.blockSize + 1)
        header.provisionalLength = header.length + reader.integer() % UInt64(2 * Self.blockSize + 1)
        let sparse = reader.byte()
        if sparse < 16 { header.firstSparseBlock = UInt64(sparse) }

        for number in 0..<Int(reader.byte()) % (Self.mostBlocks + 2) {
            let size = Int(reader.integer()) % (Self.blockSize + 1)
            sizes.append(size)
            let stored = size == 0 ? [] : try sealer.seal(Self.contents(of: number, size), as: UInt64(number))
            area += stored + [UInt8](repeating: 0, count: Self.storedSize - stored.count)
        }
        let size = Int(reader.integer())
        if size < area.count { area.removeSubrange(size...) }
        while !reader.isAtEnd && !area.isEmpty {
            let offset = Int(reader.integer())
            area[offset % area.count] ^= reader.byte()
        }
    }

    /// The plaintext of a block: never zeros, and different from its neighbours.
    static func contents(of number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: 1 + (number * 37 + $0) % 255) }
    }

    /// The backing file.
    func bytes(_ keys: VolumeKeys) -> [UInt8] { header.signed(by: keys) + area }

    /// Where a block lies in `area`, as far as `area` reaches.
    func range(ofBlock number: Int) -> Range<Int> {
        let start = min(number * Self.storedSize, area.count)
        return start..<min(start + Self.storedSize, area.count)
    }
}

/// Seals blocks of the planted file under its key, which is always the same.
struct BlockSealer: ~Copyable {
    private var cipher: BlockCipher
    private let key: Secret

    init() throws(CryptoError) {
        let key = try secret([UInt8](repeating: 9, count: 32))
        var cipher = try BlockCipher()
        try cipher.setKey(key, for: .seal)
        self.cipher = cipher
        self.key = key
    }

    func wrap(in planted: PlantedVault) throws(Finding) -> FileKeyWrap {
        try demandSuccess(of: "wrapping a key") {
            try planted.ring.wrap(key, file: PlantedFile.identifier, class: .none)
        }
    }

    mutating func seal(_ plain: [UInt8], as number: UInt64) throws(Finding) -> [UInt8] {
        var data = [UInt8](repeating: 0, count: BlockGeometry.associatedDataSize)
        do {
            var elements = data.mutableSpan
            var span = unsafe elements.mutableBytes
            BlockGeometry.storeAssociatedData(
                volume: PlantedVault.volumeID, file: PlantedFile.identifier, block: number, into: &span)
        }
        let nonce = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: BlockGeometry.nonceSize)
        var sealed = [UInt8](repeating: 0, count: plain.count + BlockGeometry.tagSize)
        do {
            var elements = sealed.mutableSpan
            var span = unsafe elements.mutableBytes
            try cipher.seal(
                unsafe plain.span.bytes, nonce: unsafe nonce.span.bytes, associatedData: unsafe data.span.bytes,
                into: &span)
        } catch { throw Finding("sealing a block: \(error)") }
        return nonce + sealed
    }
}
