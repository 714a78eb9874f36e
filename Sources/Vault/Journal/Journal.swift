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
/// It has parts, which are written in turn: while one is written, the files that have records in the oldest one are
/// checkpointed; then that part is free. There are two; if records come faster than checkpoints free a part, there are
/// more, until nothing in the journal is needed. Thread-safe.
package final class Journal: Sendable {
    let store: any Store
    let keys: VolumeKeys
    let file: Descriptor
    /// How many parts it may have at times.
    let mostParts: Int
    /// Whether the store had no space to spare when the journal was to grow the last time.
    let isConfined = Atomic(false)
    /// How many renames over an empty directory are under way: a crash may need their *tombstone* records.
    let tombstones = Atomic(0)
    /// Lock order: docs/ARCHITECTURE.md.
    let state: Mutex<State>
    /// How often reserved room was given back.
    let returns = Monitor(UInt64(0))
    /// Held during a flush. A thread that has waited for it may find its records durable already. Lock order:
    /// docs/ARCHITECTURE.md.
    let flushing = Mutex<Void>(())

    struct Part {
        /// 0 if it was not written to in this session.
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
        /// How many bytes from the part's beginning have been written at least once.
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
        /// As it is on the disk, or as it was to be when a write of it failed.
        var head: JournalHead
        var parts = [Part](repeating: Part(), count: JournalHead.fewestParts)
        /// The part that is written.
        var active = 0
        /// Where the next record begins in the active part.
        var position: UInt64 = 0
        var reserved: UInt64 = 0
        /// How many records were appended, and how many of them are durable.
        var records = (appended: UInt64(0), durable: UInt64(0))
        /// A flush covers all before `position`. The next record begins in a new sector, because no durable sector is
        /// written again.
        var isSealed = false
        /// The aliases by which records name files whose own ID names another file.
        var aliases: [FileIdentity: FileIdentifier] = [:]
        /// The error of a flush or write that has failed: what is on disk is unknown, so no record is appended or
        /// flushed any more.
        var failure: Errno?
        /// Where the records end in the active part that were given up: those from `position` on may be in the file.
        var unanswered: UInt64 = 0
        /// The last times of modification that the journal was given, in seconds: on purpose, which no user sees, and
        /// by the clock.
        var times = (stamp: Int64.min, clock: Int64.min)
        /// The records that are about to be written.
        var buffer = [UInt8](repeating: 0, count: JournalRecord.byteCount(payload: JournalRecord.largestPayload))
    }

    /// Takes over the open journal, whose parts hold nothing that counts.
    init(
        store: any Store, keys: VolumeKeys, file: Descriptor, head: JournalHead,
        mostParts: Int = JournalHead.fewestParts
    ) {
        self.store = store
        self.keys = keys
        self.file = file
        self.mostParts = mostParts
        state = Mutex(State(head: head))
    }
}
