import Crypto
import Format
import Freshness
import Glibc
import Posix
import TestSupport

/// A file of marks: its bytes, and the records in it, which a person who has the keys can make.
///
/// The first byte of an input says what the other bytes are, and how many records a batch has.
final class MarksParser: FuzzedParser {
    private static let volume = VolumeIdentifier([UInt8](1...16))

    private let folder: TemporaryFolder
    private let cipher: DeterministicCipher
    private var path: Path { Path(folder.path("marks")) }

    init() throws {
        try SecureHeap.initialize()
        folder = try TemporaryFolder()
        cipher = try DeterministicCipher(key: Secret(copying: unsafe [UInt8](repeating: 7, count: 64).span.bytes))
    }

    func run(_ input: [UInt8]) throws(Finding) {
        guard let kind = input.first else { return }
        let payload = Array(input.dropFirst())
        let bytes = kind & 1 == 0 ? payload : try sealed(payload, atOnce: 1 + Int(kind >> 1) % 8)
        try demandSuccess(of: "writing a file of marks") { () throws(Errno) in
            let file = try Descriptor.open(path: path, O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
            try unsafe file.write(bytes.span.bytes, at: 0)
        }
        let first = try open()
        try demand(first.size.count <= bytes.count / MarkRecord.byteCount, "\(first.size.count) marks")
        // A file that was read can be written to, and is read again as it was.
        let key = MarkKey(FileIdentifier([UInt8](repeating: 9, count: 16)), at: .zero)
        let mark = Mark(generation: 5, blocks: 2, digest: 3, time: 4, protectionClass: .none)
        first.note(mark, of: key, isOwn: true)
        var bounds = BlockBounds()
        bounds.raise(3..<5, to: 4)
        first.note(bounds, of: [key])
        if let flush = first.beginFlush() { first.endFlush(flush, succeeded: true) }
        try demandSuccess(of: "saving") { () throws(Errno) in try first.save() }
        let (before, count) = (first[key], first.size.count)
        let blocks = first.bounds(of: 0..<2000, under: [key])
        let runs = first.table.blocks.count
        _ = consume first
        let again = try open()
        try demand(again.size.count == count && again[key] == before, "another memory after it was saved")
        try demand(
            again.bounds(of: 0..<2000, under: [key]) == blocks && again.table.blocks.isEmpty == (runs == 0),
            "other bounds of blocks after they were saved")
        var verdicts = 0
        again.table.forEach { _, mark in if !mark.verdict(on: mark).isFresh { verdicts += 1 } }
        let gone = again.table.goneCount
        try demand(verdicts == gone.names + gone.values, "\(verdicts) marks are older than themselves")
    }

    private func open() throws(Finding) -> Marks {
        try demandSuccess(of: "opening a file of marks") { () throws(Errno) in
            try Marks(path: path, volume: Self.volume, cipher: cipher)
        }
    }

    private func sealed(_ records: [UInt8], atOnce most: Int) throws(Finding) -> [UInt8] {
        let head = MarkFileHead(volume: Self.volume, identifier: [UInt8](repeating: 3, count: 16)).encoded
        var file = head
        let size = most * MarkRecord.byteCount
        for (number, begin) in stride(from: 0, to: records.count - records.count % MarkRecord.byteCount, by: size)
            .enumerated()
        {
            let end = min(begin + size, records.count - records.count % MarkRecord.byteCount)
            let place = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            let count = (end - begin) / MarkRecord.byteCount
            file += (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            file += try demandSuccess(of: "sealing marks") { () throws(CryptoError) in
                try unsafe cipher.seal(
                    Array(records[begin..<end]).span.bytes, associatedData: head.span.bytes, place.span.bytes)
            }
        }
        return file
    }
}
