import Crypto
import Format
import Posix
import Store

/// The journal as the last session left it.
package struct RecoveryJournal {
    let vault: Vault
    let file: Descriptor
    package let head: JournalHead
    /// It is of the time before the vault became a synchronised one, in which this machine has no journal yet.
    package let isEarlier: Bool
    private let window: JournalWindow

    private static let noFile = "the journal is not a regular file"

    /// A record whose MAC is right, and the offset of its payload.
    package struct Entry {
        package let record: JournalRecord
        let offset: Int64
    }

    /// Takes a head whose MAC was not checked.
    package init(of vault: Vault, _ file: Descriptor, _ head: JournalHead) {
        self.vault = vault
        self.file = file
        self.head = head
        window = JournalWindow(of: file, vault)
        isEarlier = vault.isSynchronised && vault.foundJournalName == .journal
    }

    /// Nil if the vault has no journal.
    ///
    /// - Parameter name: of another machine's; nil for the one with which this machine's next session begins.
    package init?(of vault: Vault, named name: Name? = nil) throws(VaultError) {
        self.vault = vault
        let name = name ?? vault.foundJournalName
        isEarlier = vault.isSynchronised && name == .journal
        do throws(Errno) {
            file = try vault.store.open(
                name, in: vault.store.root, vault.isReadOnly ? OpenFlags.read : OpenFlags.readWrite, mode: 0)
        } catch {
            switch error {
            case .ENOENT: return nil
            case .EISDIR, .ELOOP: throw .damaged(Self.noFile)
            default: throw .system(error)
            }
        }
        window = JournalWindow(of: file, vault)
        let kind: FileKind?
        do { kind = try vault.store.status(of: file).kind } catch { throw .system(error) }
        guard kind == .regular else { throw .damaged(Self.noFile) }
        let bytes = try Self.read(JournalHead.byteCount, at: 0, of: file, vault)
        guard bytes.count == JournalHead.byteCount,
            unsafe vault.keys.journal.verify(
                bytes.span.bytes.extracting(JournalHead.signedByteCount..<JournalHead.byteCount),
                of: bytes.span.bytes.extracting(0..<JournalHead.signedByteCount))
        else { throw .damaged("the journal's head was changed") }
        do { head = try unsafe JournalHead(decoding: bytes.span.bytes) } catch {
            switch error {
            // The MAC is right: a program that knows the key has written this.
            case .unknownVersion, .unknownFeature:
                throw .unsupported("a later version of latchkey has written the journal: \(error)")
            default: throw .damaged("the journal's head: \(error)")
            }
        }
        guard head.volume == vault.keys.volume else { throw .damaged("a journal of another vault") }
        guard head.features.canWrite || vault.isReadOnly else {
            throw .unsupported("a later version of latchkey has written the journal: it can be read only")
        }
    }

    /// All records, in the order in which they were written.
    package func entries() throws(VaultError) -> [Entry] {
        var parts: [[Entry]] = []
        for part in 0..<head.parts { parts.append(try entries(ofPart: part)) }
        return parts.filter { !$0.isEmpty }.sorted { $0[0].record.epoch < $1[0].record.epoch }.flatMap { $0 }
    }

    private func entries(ofPart part: Int) throws(VaultError) -> [Entry] {
        let start = Int64(head.offset(ofPart: part))
        var entries: [Entry] = []
        var position: UInt64 = 0
        let sector = UInt64(JournalRecord.sectorSize)
        while true {
            // After a flush, records begin at the next sector.
            let next = (position + sector - 1) / sector * sector
            var found: JournalRecord?
            for candidate in position == next ? [position] : [position, next] {
                found = try record(at: candidate, start, epoch: entries.first?.record.epoch)
                if found != nil { break }
            }
            guard let found else { return entries }
            entries.append(
                Entry(record: found, offset: start + Int64(found.position) + Int64(JournalRecord.prefixByteCount)))
            position = found.position + UInt64(found.byteCount)
        }
    }

    private func record(at position: UInt64, _ start: Int64, epoch: UInt64?) throws(VaultError) -> JournalRecord? {
        guard position + UInt64(JournalRecord.byteCount(payload: 0)) <= head.partSize else { return nil }
        let prefix = try window.read(JournalRecord.prefixByteCount, at: start + Int64(position))
        guard let record = try? unsafe JournalRecord(decoding: prefix.span.bytes), record.position == position,
            record.epoch == epoch ?? max(record.epoch, head.nextEpoch),
            position + UInt64(record.byteCount) <= head.partSize
        else { return nil }
        let bytes = try window.read(record.byteCount, at: start + Int64(position))
        guard bytes.count == record.byteCount else { return nil }
        return try isAuthentic(record, bytes) ? record : nil
    }

    private func isAuthentic(_ record: JournalRecord, _ bytes: [UInt8]) throws(VaultError) -> Bool {
        let signed = bytes.count - JournalRecord.tagByteCount
        let prefix = JournalRecord.prefixByteCount
        let all = unsafe bytes.span.bytes
        let tag = all.extracting(signed..<bytes.count)
        guard record.kind == .blocks else {
            return vault.keys.volume.withBytes { vault.keys.journal.verify(tag, of: $0, all.extracting(0..<signed)) }
        }
        let hash = try authentic("") { () throws(CryptoError) in
            var hash = try PolynomialHash(key: vault.keys.journalBlocks)
            return try hash.hash(all.extracting(prefix..<prefix + record.payloadCount))
        }
        return vault.keys.volume.withBytes { volume in
            hash.withBytes { vault.keys.journal.verify(tag, of: volume, all.extracting(0..<prefix), $0) }
        }
    }

    func payload(of entry: Entry) throws(VaultError) -> [UInt8] {
        try contents(of: StoredBlock(offset: entry.offset, count: entry.record.payloadCount))
    }

    /// A block in a record's payload.
    struct StoredBlock {
        let offset: Int64
        let count: Int
    }

    func contents(of block: StoredBlock) throws(VaultError) -> [UInt8] {
        let bytes = try window.read(block.count, at: block.offset)
        guard bytes.count == block.count else { throw .damaged("the journal is truncated") }
        return bytes
    }

    static func read(
        _ count: Int, at offset: Int64, of file: Descriptor, _ vault: Vault
    ) throws(VaultError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            got = try vault.store.read(file, into: &span, at: offset)
        } catch { throw .system(error) }
        return Array(bytes.prefix(got))
    }
}
