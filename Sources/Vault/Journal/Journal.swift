import Crypto
import Format
import Keybag
import Posix
import Store
import Synchronization

/// The redo journal: blocks and headers that must be durable before they may lie in their files.
///
/// A write over bytes that a crash must not harm is appended here and copied into place later. One flush of the journal
/// makes it durable, for all files at once. docs/DURABILITY.md has the argument, docs/FORMAT.md the bytes.
///
/// It has two halves: while one is written, the files that have records in the other are checkpointed; then that half
/// is free. Thread-safe.
package final class Journal: Sendable {
    /// The usual size of a half, in bytes.
    package static let usualHalfSize: UInt64 = 16 << 20
    let store: any Store
    let keys: VolumeKeys
    let file: Descriptor
    /// Lock order: docs/ARCHITECTURE.md.
    let state: Mutex<State>
    /// Held during a flush. A thread that has waited for it may find its records durable already. Lock order:
    /// docs/ARCHITECTURE.md.
    let flushing = Mutex<Void>(())

    struct Half {
        var epoch: UInt64 = 0
        /// The files that have records here and were not checkpointed since, each with the sequence number of its last
        /// record.
        var users: [FileIdentity: UInt64] = [:]
        /// The contents of each file's last *file* or *duplicate* record here.
        var intents: [FileIdentity: Intent] = [:]
        /// The inodes of all files that have a *file* record here, dead or not.
        var owners: [FileIdentifier: UInt64] = [:]
        /// Uncommitted creates, by inode: files that replay can make from the records here alone.
        var uncommittedCreates: [UInt64: FileIdentity] = [:]
        /// How many bytes from the half's beginning have been written at least once.
        var filled: UInt64 = 0
    }

    /// The contents of a *file* or *duplicate* record.
    struct Intent: Sendable {
        /// From the vault's root; empty if it could not be found out.
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
        /// How many records were appended, and how many of them are durable.
        var records = (appended: UInt64(0), durable: UInt64(0))
        /// A flush covers all before `position`. The next record begins in a new sector, because no durable sector is
        /// written again.
        var isSealed = false
        var halves = [Half(), Half()]
        /// The aliases by which records name files whose own ID names another file.
        var aliases: [FileIdentity: FileIdentifier] = [:]
        /// The error of a flush or write that has failed: what is on disk is unknown, so no record is appended or
        /// flushed any more.
        var failure: Errno?
        /// Where the records end in the active half that were given up: those from `position` on may be in the file.
        var unanswered: UInt64 = 0
        /// The last times of modification that the journal was given, in seconds: on purpose, which no user sees, and
        /// by the clock.
        var times = (stamp: Int64.min, clock: Int64.min)
        /// The records that are about to be written.
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

    /// Reserves bytes for records, so that `append` finds room; false if a half must be freed first.
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

    /// The files with records in the half that is not written now: once they are checkpointed, it is free.
    var usersOfOtherHalf: [FileIdentity: UInt64] {
        state.withLock { $0.halves[1 - $0.active].users }
    }

    /// The files with records that are not dead, as far as is known.
    var users: [FileIdentity: UInt64] {
        state.withLock { $0.halves[1 - $0.active].users.merging($0.halves[$0.active].users) { max($0, $1) } }
    }

    /// A quarter of the active half is full and the other half is in use: a checkpoint now frees that one before this
    /// one is full.
    var isLowOnSpace: Bool {
        state.withLock { state in
            !state.halves[1 - state.active].users.isEmpty && state.position > state.head.halfSize / 4
        }
    }
}
