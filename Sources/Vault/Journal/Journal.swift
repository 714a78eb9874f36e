import Crypto
import Format
import Keybag
import Posix
import Store
import Synchronization

/// The redo journal: blocks and headers that must be durable before they may lie in their files.
///
/// A write over bytes that a cut must not harm is appended here and copied into place later; one flush of the journal
/// makes it durable, for all files at once. docs/DURABILITY.md has the argument, docs/FORMAT.md the bytes.
///
/// Two halves: while one is written, the files that have records in the other are settled, and then it is free.
/// Thread-safe; its locks are leaves but for the store.
final class Journal: Sendable {
    /// Bytes of one half, as a rule.
    static let usualHalfSize: UInt64 = 16 << 20
    /// Bytes of the smallest one in which every operation finds room.
    static let smallestHalfSize: UInt64 = 512 << 10
    /// Which part of a half is filled with zeros at once, so that its space is the file system's last word: a flush of
    /// overwritten bytes moves no metadata.
    private static let chunks: UInt64 = 16

    let store: any Store
    let keys: VolumeKeys
    let file: Descriptor
    private let state: Mutex<State>
    /// Held by whoever flushes; the others wait here, and find that it was done for them.
    private let flushing = Mutex<Void>(())

    struct Half {
        var lap: UInt64 = 0
        /// The files that are not settled since they had records here, with the sequence number of the last one.
        var users: [FileIdentifier: UInt64] = [:]
        /// What the last *file* record here says.
        var claims: [FileIdentifier: Claim] = [:]
        /// Files that can be made from records here alone, by the inode that they have.
        var born: [UInt64: FileIdentifier] = [:]
        /// Bytes from its beginning that have been written once.
        var filled: UInt64 = 0
    }

    /// What a *file* record says.
    struct Claim: Sendable {
        /// From the root; empty where it could not be told.
        let path: [UInt8]
        let low: UInt64
        let high: UInt64
    }

    struct State {
        var head: JournalHead
        var active = 0
        /// Where the next record begins in the active half.
        var position: UInt64 = 0
        var reserved: UInt64 = 0
        /// How many records there were, and how many of them are durable.
        var appended: UInt64 = 0
        var durable: UInt64 = 0
        /// A flush is behind `position`: no durable sector is written again.
        var isSealed = false
        var halves = [Half(), Half()]
        /// After a flush that failed nobody knows what is on disk: nothing is promised any more.
        var failure: Errno?
        /// Records that are about to be written.
        var buffer = [UInt8](repeating: 0, count: JournalRecord.byteCount(payload: JournalRecord.largestPayload))
    }

    /// Takes over the open journal, whose halves hold nothing that counts.
    init(store: any Store, keys: VolumeKeys, file: Descriptor, head: JournalHead) {
        self.store = store
        self.keys = keys
        self.file = file
        state = Mutex(State(head: head))
    }

    // MARK: Room

    /// Sets bytes aside for records, so that `append` finds room; false when a half must be freed first.
    func reserve(_ count: UInt64) throws(Errno) -> Bool {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            precondition(count <= state.head.halfSize, "no half is large enough")
            let free = state.head.halfSize - state.position
            let other = state.halves[1 - state.active]
            guard
                state.reserved + count <= free
                    || (other.users.isEmpty && state.reserved + count <= state.head.halfSize)
            else { return false }
            state.reserved += count
            return true
        }
    }

    func unreserve(_ count: UInt64) {
        state.withLock { $0.reserved -= count }
    }

    /// The most that records with so many payload bytes in all can need.
    static func room(records: Int, payload: Int) -> UInt64 {
        UInt64(records * (JournalRecord.byteCount(payload: 0) + JournalRecord.sectorSize + 8) + payload)
    }

    /// The files of the half that is not written now: settled, they free it.
    var usersOfOtherHalf: [FileIdentifier: UInt64] {
        state.withLock { $0.halves[1 - $0.active].users }
    }

    /// More than half of the active half is full and the other is in use: time to settle.
    var isPressed: Bool {
        state.withLock { state in
            !state.halves[1 - state.active].users.isEmpty && state.position > state.head.halfSize / 2
        }
    }

    // MARK: Records

    /// Where a payload lies in the journal.
    struct Slot: Sendable {
        let offset: Int64
        let count: Int
        /// Of its record: durable once `flush(upTo:)` has been there.
        let sequence: UInt64
    }

    /// Appends a record, for which room was reserved.
    func append(_ record: JournalRecord, _ payload: RawSpan) throws(Errno) -> Slot {
        var slot: Slot!
        try appendTogether(UInt64(record.byteCount)) { add in slot = add(record, payload) }
        return slot
    }

    /// Appends the records that `body` gives to its argument, with one write: when this throws, none of them is there.
    ///
    /// - Parameter room: at least what they take; it was reserved.
    func appendTogether(
        _ room: UInt64, _ body: ((JournalRecord, RawSpan) -> Slot) throws(Errno) -> Void
    ) throws(Errno) {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            if state.isSealed {
                let sector = UInt64(JournalRecord.sectorSize)
                state.position = (state.position + sector - 1) / sector * sector
                state.isSealed = false
            }
            if state.position + room > state.head.halfSize { try turn(&state) }
            if state.position == 0 {
                state.halves[state.active].lap = state.head.nextLap
                state.head.nextLap += 1
            }
            let lap = state.halves[state.active].lap
            let start = state.position
            let offset = state.head.offset(ofHalf: state.active) + start
            var files: [FileIdentifier: UInt64] = [:]
            var (used, sequence) = (0, state.appended)
            try body { record, payload in
                var record = record
                record.lap = lap
                record.position = start + UInt64(used)
                if state.buffer.count < used + record.byteCount {
                    state.buffer += [UInt8](repeating: 0, count: max(record.byteCount, state.buffer.count))
                }
                encode(record, payload, &state.buffer, at: used)
                sequence += 1
                files[record.file] = sequence
                defer { used += record.byteCount }
                return Slot(
                    offset: Int64(offset) + Int64(used + JournalRecord.prefixByteCount), count: payload.byteCount,
                    sequence: sequence)
            }
            precondition(UInt64(used) <= room, "more records than was said")
            try fill(&state, upTo: start + UInt64(used))
            try unsafe store.write(state.buffer.span.bytes.extracting(0..<used), to: file, at: Int64(offset))
            state.position = start + UInt64(used)
            state.appended = sequence
            for (file, sequence) in files { state.halves[state.active].users[file] = sequence }
        }
    }

    private func encode(_ record: JournalRecord, _ payload: RawSpan, _ buffer: inout [UInt8], at start: Int) {
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
            unsafe keys.journal.tag(of: volume, buffer.span.bytes.extracting(start..<signed))
        }
        for index in tag.indices { buffer[signed + index] = tag[index] }
    }

    /// Goes on in the other half, which nobody uses.
    private func turn(_ state: inout State) throws(Errno) {
        state.active = 1 - state.active
        guard state.halves[state.active].users.isEmpty else {
            state.active = 1 - state.active
            throw .ENOSPC
        }
        state.halves[state.active].born = [:]
        state.halves[state.active].claims = [:]
        state.position = 0
    }

    /// Writes zeros ahead of the records.
    private func fill(_ state: inout State, upTo end: UInt64) throws(Errno) {
        let filled = state.halves[state.active].filled
        guard end > filled else { return }
        let count = min(max(state.head.halfSize / Self.chunks, end - filled), state.head.halfSize - filled)
        let zeros = [UInt8](repeating: 0, count: Int(count))
        try unsafe store.write(
            zeros.span.bytes, to: file, at: Int64(state.head.offset(ofHalf: state.active) + filled))
        state.halves[state.active].filled = filled + count
    }

    /// Reads a payload that was appended: as many bytes as it has. `ESTALE`'s cause is a fault of ours.
    func read(_ slot: Slot, into buffer: inout MutableRawSpan) throws(Errno) {
        guard try store.read(file, into: &buffer, at: slot.offset) == slot.count else { throw .EIO }
    }

    // MARK: Flushes

    /// Makes all records up to a sequence number durable. Whoever comes while a flush is under way waits for it, and one
    /// flush then serves all who wait.
    func flush(upTo sequence: UInt64) throws(Errno) {
        guard try needsFlush(upTo: sequence) else { return }
        try flushing.withLock { _ throws(Errno) in
            guard try needsFlush(upTo: sequence) else { return }
            let target = state.withLock { state in
                state.isSealed = true
                return state.appended
            }
            do throws(Errno) {
                try store.synchronize(file, dataOnly: true)
            } catch {
                state.withLock { $0.failure = error }
                throw error
            }
            state.withLock { $0.durable = target }
        }
    }

    func flush() throws(Errno) {
        try flush(upTo: state.withLock { $0.appended })
    }

    private func needsFlush(upTo sequence: UInt64) throws(Errno) -> Bool {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            return state.durable < sequence
        }
    }

    /// The number of the last record that is durable.
    var durable: UInt64 { state.withLock { $0.durable } }

    // MARK: Files

    /// All that the records of a file say up to a sequence number lies durably in the file: they are dead.
    func release(_ file: FileIdentifier, upTo sequence: UInt64) {
        state.withLock { state in
            for half in state.halves.indices {
                if let last = state.halves[half].users[file], last <= sequence {
                    state.halves[half].users[file] = nil
                    state.halves[half].claims[file] = nil
                }
            }
        }
    }

    /// Appends a *file* record, for which room was reserved.
    func append(_ claim: Claim, of file: FileIdentifier) throws(Errno) -> Slot {
        let slot = try unsafe append(
            JournalRecord(.file, of: file, generation: claim.high, number: claim.low, payloadCount: claim.path.count),
            claim.path.span.bytes)
        state.withLock { state in
            // Where the record went: the half may have been turned for it.
            state.halves[state.active].claims[file] = claim
        }
        return slot
    }

    /// The files that have records and lie within a folder, as far as is known.
    func claims(within folder: [UInt8]) -> [FileIdentifier: Claim] {
        let prefix = folder + [UInt8(ascii: "/")]
        return state.withLock { state in
            var claims: [FileIdentifier: Claim] = [:]
            for half in [1 - state.active, state.active] {
                for (file, claim) in state.halves[half].claims where claim.path.starts(with: prefix) {
                    claims[file] = claim
                }
            }
            return claims
        }
    }

    /// A file whose header may not be on disk can be made from its records.
    func noteBirth(of file: FileIdentifier, inode: UInt64) {
        state.withLock { $0.halves[$0.active].born[inode] = file }
    }

    /// The file of an inode that was removed, if the journal could make it again.
    func takeBorn(inode: UInt64) -> FileIdentifier? {
        state.withLock { state in
            var file: FileIdentifier?
            for half in state.halves.indices {
                if let born = state.halves[half].born.removeValue(forKey: inode) { file = born }
            }
            return file
        }
    }

    // MARK: Head

    /// Writes the head as `change` leaves it, durably.
    func changeHead(_ change: (inout JournalHead) -> Void) throws(Errno) {
        let head = state.withLock { state in
            change(&state.head)
            return state.head
        }
        try unsafe store.write(JournalHead.signed(head, keys).span.bytes, to: file, at: 0)
        try store.synchronize(file, dataOnly: true)
    }

    var head: JournalHead { state.withLock { $0.head } }
}

extension JournalHead {
    /// The 512 bytes of a head.
    static func signed(_ head: JournalHead, _ keys: VolumeKeys) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            head.encode(into: &span)
        }
        let tag = unsafe keys.journal.tag(of: bytes.span.bytes.extracting(0..<signedByteCount))
        bytes.replaceSubrange(signedByteCount..., with: tag)
        return bytes
    }
}
