import Crypto
import Format
import Keybag
import Posix
import Store
import Writeback

extension Journal {
    /// The share of a part that is filled with zeros at once, ahead of the records: one in so many. Records then
    /// overwrite space that is allocated and written already, and a flush of overwritten bytes moves no metadata.
    private static let chunks: UInt64 = 16
    /// Records of so many bytes are written without that: the metadata are little beside them.
    private static let largeWrite = 64 << 10

    /// Appends a record of a file, or of none. The caller has reserved room for it.
    func append(_ record: JournalRecord, of file: FileIdentity, _ payload: RawSpan) throws(Errno) -> JournalExtent {
        try appendTogether(UInt64(record.byteCount), of: file) { add in add(record, payload, nil) }
    }

    /// Puts a record behind those that were added before: its payload, and for *blocks* the payload's hash.
    typealias Adding = (JournalRecord, RawSpan, _ hash: RawSpan?) -> JournalExtent

    /// Appends the records of a file that `body` passes to its argument, with one write: when this throws, none of them
    /// is there.
    ///
    /// - Parameter room: at least as many bytes as they take; the caller has reserved it.
    func appendTogether<Result: Sendable>(
        _ room: UInt64, of file: FileIdentity,
        _ body: (Adding) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        try state.withLock { state throws(Errno) in
            try advance(for: room, &state)
            return try write(&state, room, of: file, as: state.aliases[file] ?? file.identifier, body)
        }
    }

    /// Moves the position to where the next records begin: a new sector after a flush, the next part if this one is
    /// full.
    func advance(for room: UInt64, _ state: inout State) throws(Errno) {
        if let failure = state.failure { throw failure }
        try removeUnanswered(&state)
        if state.isSealed {
            let sector = UInt64(JournalRecord.sectorSize)
            state.position = (state.position + sector - 1) / sector * sector
            state.isSealed = false
        }
        if state.position + room > state.head.partSize { try turn(&state) }
        if state.position == 0 { state.parts[state.active].epoch = state.nextEpoch }
    }

    /// Overwrites records whose write was given up with zeros, durably, before another one is appended: the store may
    /// have taken them, and a crash must not find them behind, or between, records that came later.
    private func removeUnanswered(_ state: inout State) throws(Errno) {
        guard state.unanswered > state.position else { return }
        let zeros = [UInt8](repeating: 0, count: Int(state.unanswered - state.position))
        do throws(Errno) {
            try unsafe store.write(
                zeros.span.bytes, to: file, at: Int64(state.head.offset(ofPart: state.active) + state.position))
            try store.synchronize(file, dataOnly: true)
        } catch {
            if error != .notAnswered { state.failure = error }
            throw error
        }
        state.unanswered = 0
    }

    /// Writes the records of `body` at that position.
    ///
    /// - Parameter tag: the ID or the alias by which the records name the file.
    func write<Result: Sendable>(
        _ state: inout State, _ room: UInt64, of file: FileIdentity, as tag: FileIdentifier,
        _ body: (Adding) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let epoch = state.parts[state.active].epoch
        let start = state.position
        let offset = state.head.offset(ofPart: state.active) + start
        var (used, sequence) = (0, state.records.appended)
        let result = try body { record, payload, hash in
            var record = record
            record.file = tag
            record.epoch = epoch
            record.position = start + UInt64(used)
            if state.buffer.count < used + record.byteCount {
                state.buffer += [UInt8](repeating: 0, count: max(record.byteCount, state.buffer.count))
            }
            encode(record, payload, hash, &state.buffer, at: used)
            sequence += 1
            defer { used += record.byteCount }
            return JournalExtent(
                offset: Int64(offset) + Int64(used + JournalRecord.prefixByteCount), count: payload.byteCount,
                sequence: sequence)
        }
        precondition(UInt64(used) <= room, "more records than was said")
        try fill(&state, from: start, used)
        do throws(Errno) {
            try unsafe store.write(state.buffer.span.bytes.extracting(0..<used), to: self.file, at: Int64(offset))
        } catch {
            // On a full disk the write stops before the last record, and records without a header behind them do not
            // count. After another error all of them may be on disk, perhaps behind the records that come next.
            switch error {
            case .ENOSPC, .EDQUOT: break
            case .notAnswered: state.unanswered = max(state.unanswered, start + UInt64(used))
            default: state.failure = error
            }
            throw error
        }
        // Not an error of the records, which are written. A copy may then lack them until the next flush, which tries
        // again and makes them count.
        try? stampAfterWrite(&state)
        state.position = start + UInt64(used)
        state.records.appended = sequence
        state.parts[state.active].users[file] = sequence
        return result
    }

    private func encode(
        _ record: JournalRecord, _ payload: RawSpan, _ hash: RawSpan?, _ buffer: inout [UInt8], at start: Int
    ) {
        let signed = start + record.byteCount - JournalRecord.tagByteCount
        do {
            var elements = buffer.mutableSpan
            var all = unsafe elements.mutableBytes
            var bytes = all._mutatingExtracting(start..<start + record.byteCount)
            record.encode(into: &bytes)
            unsafe bytes.withUnsafeMutableBytes { target in
                unsafe payload.withUnsafeBytes { source in
                    guard source.count > 0 else { return }
                    unsafe UnsafeMutableRawBufferPointer(rebasing: target[JournalRecord.prefixByteCount...])
                        .copyMemory(from: source)
                }
            }
        }
        let tag = keys.volume.withBytes { volume in
            let bytes = unsafe buffer.span.bytes.extracting(start..<signed)
            guard let hash else { return keys.journal.tag(of: volume, bytes) }
            return keys.journal.tag(
                of: volume, bytes.extracting(..<JournalRecord.prefixByteCount), hash)
        }
        for index in tag.indices { buffer[signed + index] = tag[index] }
    }

    /// Continues in the next part, which no file uses any more; `ENOSPC` if one does.
    private func turn(_ state: inout State) throws(Errno) {
        guard state.isNextFree else { throw .ENOSPC }
        state.active = state.next
        state.parts[state.active].uncommittedCreates = [:]
        state.parts[state.active].intents = [:]
        state.parts[state.active].owners = [:]
        state.position = 0
    }

    /// Fills the part with zeros ahead of the records.
    private func fill(_ state: inout State, from start: UInt64, _ used: Int) throws(Errno) {
        let (filled, end) = (state.parts[state.active].filled, start + UInt64(used))
        guard end > filled else { return }
        guard used < Self.largeWrite else {
            // The next zeros begin a sector: a flush may have made this one durable.
            let sector = UInt64(JournalRecord.sectorSize)
            state.parts[state.active].filled = min((end + sector - 1) / sector * sector, state.head.partSize)
            return
        }
        let count = min(max(state.head.partSize / Self.chunks, end - filled), state.head.partSize - filled)
        let zeros = [UInt8](repeating: 0, count: Int(count))
        try unsafe store.write(
            zeros.span.bytes, to: file, at: Int64(state.head.offset(ofPart: state.active) + filled))
        state.parts[state.active].filled = filled + count
    }

    /// Reads blocks that were appended, one every `spacing` bytes of `buffer`; those of one record take one read. `EIO`
    /// if the journal ends too early.
    func read(_ extents: [JournalExtent], spacing: Int, into buffer: inout MutableRawSpan) throws(Errno) {
        var begin = 0
        while begin < extents.count {
            let start = extents[begin].offset
            var end = begin + 1
            while end < extents.count, extents[end].offset == start + Int64((end - begin) * spacing) { end += 1 }
            let count = (end - 1 - begin) * spacing + extents[end - 1].count
            var bytes = buffer._mutatingExtracting(begin * spacing..<begin * spacing + count)
            guard try store.read(file, into: &bytes, at: start) == count else { throw .EIO }
            begin = end
        }
    }

    /// Reads a payload that was appended: as many bytes as it has. `EIO` if the journal ends too early.
    func read(_ extent: JournalExtent, into buffer: inout MutableRawSpan) throws(Errno) {
        guard try store.read(file, into: &buffer, at: extent.offset) == extent.count else { throw .EIO }
    }
}
