import Crypto
import Format
import Posix
import Store
import Vault

/// What a vault reads from a file whose header is authentic, whatever its length and blocks have become.
final class FileParser: FuzzedParser {
    private let planted: PlantedVault
    private var sealer: BlockSealer
    private let backingName: Name

    init() throws {
        planted = try PlantedVault()
        sealer = try BlockSealer()
        backingName = Name(
            bytes: try planted.vault.backingPath(of: PlantedFile.name, in: planted.root, at: "").utf8)!
    }

    func run(_ input: [UInt8]) throws(Finding) {
        var reader = Reader(input)
        let written = try PlantedFile(&reader, in: planted, sealer: &sealer)
        let (file, size) = try demandSuccess(of: "opening a file") {
            try planted.store.plant(written.bytes(planted.keys), at: backingName)
            let size = try planted.vault.lookup(PlantedFile.name, in: planted.root).status.size
            let file = try planted.vault.openFile(PlantedFile.name, in: planted.root)
            try file.loadKey()
            return (file, UInt64(size))
        }
        let length = written.header.provisionalLength
        try demand(size == length && file.length == length, "a file of \(size) bytes, not \(length)")

        var whole: [UInt8]? = []
        for number in 0..<Int(BlockGeometry.blockCount(forLength: length)) {
            let block = try read(file, PlantedFile.blockSize, at: number * PlantedFile.blockSize)
            try check(block, number, of: written)
            whole = block.flatMap { block in whole.map { $0 + block } }
        }
        try demand(try read(file, Int(length) + 100, at: 0) == whole, "a file that is not the sum of its blocks")
        try demand(try read(file, 10, at: Int(length)) == [], "bytes behind the end")
    }

    /// The bytes that are read; nil for damage.
    private func read(_ file: File, _ count: Int, at offset: Int) throws(Finding) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let result = Result { () throws(VaultError) in
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            return try file.read(into: &span, at: UInt64(offset))
        }
        switch result {
        case .success(let got): return Array(bytes.prefix(got))
        case .failure(.damaged): return nil
        case .failure(let error): throw Finding("reading: \(error)")
        }
    }

    private func check(_ block: [UInt8]?, _ number: Int, of file: PlantedFile) throws(Finding) {
        let start = number * PlantedFile.blockSize
        let confirmed = min(PlantedFile.blockSize, max(0, Int(file.header.length) - start))
        let live = min(PlantedFile.blockSize, Int(file.header.provisionalLength) - start)
        let range = file.range(ofBlock: number)
        let isHole =
            range.count > 32 && number >= file.header.firstSparseBlock
            && file.area[range].prefix(confirmed + 32).allSatisfy { $0 == 0 }

        guard let block else {
            try demand(confirmed > 0, "block \(number), past all that was confirmed, is damaged")
            try demand(!isWhole(number, confirmed, of: file), "block \(number) is whole, and damaged")
            return
        }
        try demand(block.count == live, "\(block.count) bytes of block \(number), not \(live)")
        let sealed = number < file.sizes.count ? file.sizes[number] : 0
        let contents = PlantedFile.contents(of: number, min(sealed, live))
        let isZero = block.allSatisfy { $0 == 0 }
        try demand(
            isZero || block == contents + [UInt8](repeating: 0, count: live - contents.count),
            "bytes that were never written to block \(number)")
        if isZero && !isHole { try demand(confirmed == 0, "zeros in the place of block \(number)") }
        if isWhole(number, confirmed, of: file) { try demand(!isZero, "zeros for a whole block \(number)") }
    }

    /// Whether a block is stored as the header says, unchanged.
    private func isWhole(_ number: Int, _ confirmed: Int, of file: PlantedFile) -> Bool {
        guard confirmed > 0, number < file.sizes.count, file.sizes[number] == confirmed else { return false }
        let sealed = try? sealer.seal(PlantedFile.contents(of: number, confirmed), as: UInt64(number))
        return sealed.map { file.area[file.range(ofBlock: number)].starts(with: $0) } ?? false
    }
}
