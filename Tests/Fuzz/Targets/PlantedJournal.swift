import Crypto
import Format
import Keybag
import Posix

/// A journal as an input describes it: all MACs are right, and everything else may be wrong.
struct PlantedJournal {
    static let partSize = 32 << 10
    private static let mostParts = 4

    private(set) var bytes: [UInt8]
    private let keys: VolumeKeys
    private let backingName: Name
    private let file: PlantedFile

    /// Takes whether the session has ended, whether there are two parts or four, the next epoch, the epochs of two
    /// parts (each of the other two has the epoch behind), and records until the input ends.
    init(
        _ reader: inout Reader, of file: PlantedFile, named backingName: Name, in planted: PlantedVault,
        sealer: inout BlockSealer
    ) throws(Finding) {
        keys = planted.keys
        self.file = file
        self.backingName = backingName
        var head = JournalHead(volume: PlantedVault.volumeID, partSize: UInt64(Self.partSize))
        let session = reader.byte()
        head.opened = session == 0 ? 0 : 1
        if session & 2 != 0 { head.parts = Self.mostParts }
        head.nextEpoch = UInt64(reader.byte())
        bytes = Self.signed(head, keys) + [UInt8](repeating: 0, count: JournalHead.areaOffset - JournalHead.byteCount)
        var epochs = [UInt64(reader.byte()), UInt64(reader.byte())]
        epochs += epochs.map { $0 + 1 }
        var parts = [[UInt8]](repeating: [], count: Self.mostParts)
        while !reader.isAtEnd {
            let control = reader.byte()
            let part = Int(control >> 3 & 1 | control >> 6 & 2)
            // The first record after a flush begins at a sector.
            let gap = control & 0x10 == 0 ? 0 : (512 - parts[part].count % 512) % 512
            let another = FileIdentifier([UInt8](49...64))
            var (kind, payload) = try payload(control & 7, &reader, &sealer)
            if kind == .file && control & 0x40 != 0 {
                (kind, payload) = (.duplicate, DuplicateNote(file: PlantedFile.identifier, path: payload).encoded)
            }
            if kind == .forget && control & 0x40 != 0 { kind = .hole }
            if kind == .block && control & 0x40 != 0 { kind = .blocks }
            // Any number of blocks, if it is not the right one.
            let right = kind == .blocks && reader.byte() != 0
            let count = UInt64(payload.count + PlantedFile.storedSize - 1) / UInt64(PlantedFile.storedSize)
            var record = JournalRecord(
                kind, of: control & 0x20 == 0 ? PlantedFile.identifier : another,
                generation: right ? count : UInt64(reader.byte()), number: number(&reader),
                payloadCount: payload.count)
            record.epoch = epochs[part]
            record.position = UInt64(parts[part].count + gap)
            guard parts[part].count + gap + record.byteCount <= Self.partSize else { break }
            parts[part] += [UInt8](repeating: 0, count: gap) + Self.signed(record, payload, keys)
        }
        for part in parts { bytes += part + [UInt8](repeating: 0, count: Self.partSize - part.count) }
    }

    /// A small number as a rule; now and then any number.
    private func number(_ reader: inout Reader) -> UInt64 {
        let small = reader.byte()
        return small == 255 ? reader.integer(bytes: 8) : UInt64(small)
    }

    private func payload(
        _ choice: UInt8, _ reader: inout Reader, _ sealer: inout BlockSealer
    ) throws(Finding) -> (JournalRecord.Kind, [UInt8]) {
        switch choice {
        case 0: return (.file, backingName.bytes)
        case 1: return (.file, reader.bytes(Int(reader.byte())))
        case 2:
            let number = UInt64(reader.byte() % 8)
            let size = Int(reader.integer()) % (PlantedFile.blockSize + 1)
            return (.block, try sealer.seal(PlantedFile.contents(of: Int(number) + 100, size), as: number))
        case 3: return (.block, reader.bytes(Int(reader.integer()) % JournalRecord.largestPayload))
        case 4:
            var header = file.header
            header.generation = UInt64(reader.byte())
            header.length = reader.integer(bytes: 3) % UInt64(PlantedFile.mostBlocks * PlantedFile.blockSize)
            header.provisionalLength = header.length + reader.integer() % 8192
            return (.header, header.signed(by: keys))
        case 5: return (.header, reader.bytes(Int(reader.byte())))
        case 6: return (.forget, [])
        default: return (.tombstone, reader.bytes(Int(reader.byte())))
        }
    }

    private static func signed(_ head: JournalHead, _ keys: VolumeKeys) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: JournalHead.signedByteCount)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            head.encode(into: &span)
        }
        return bytes + keys.journal.tag(of: bytes)
    }

    private static func signed(_ record: JournalRecord, _ payload: [UInt8], _ keys: VolumeKeys) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: record.byteCount)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            record.encode(into: &span)
        }
        let prefix = JournalRecord.prefixByteCount
        bytes.replaceSubrange(prefix..<prefix + payload.count, with: payload)
        bytes.removeLast(JournalRecord.tagByteCount)
        if record.kind == .blocks {
            var hash = try! PolynomialHash(key: keys.journalBlocks)
            let hashed = try! unsafe hash.hash(payload.span.bytes).withBytes { $0.array(0..<PolynomialHash.byteCount) }
            return bytes + keys.journal.tag(of: PlantedVault.volumeID.bytes, bytes.prefix(prefix) + hashed)
        }
        return bytes + keys.journal.tag(of: PlantedVault.volumeID.bytes, bytes)
    }
}
