import Crypto
import Format
import Posix
import Store
import Writeback

// Which part has records of which file.

extension Journal {
    /// Releases the records of a file up to a sequence number: all that they say is durable in the backing file.
    func release(_ file: FileIdentity, upTo sequence: UInt64) {
        state.withLock { state in
            for part in state.parts.indices {
                if let last = state.parts[part].users[file], last <= sequence {
                    state.parts[part].users[file] = nil
                    state.parts[part].intents[file] = nil
                }
            }
            if !state.hasRecords(of: file) { state.aliases[file] = nil }
        }
    }

    /// Appends a *file* or a *duplicate* record. The caller has reserved room: `roomForFile` has as much as it needs.
    func append(_ intent: Intent, of file: FileIdentity) throws(Errno) -> JournalExtent {
        try state.withLock { state throws(Errno) in
            let room = UInt64(JournalRecord.byteCount(payload: FileIdentifier.byteCount + intent.path.count))
            try advance(for: room, &state)
            let alias = state.alias(for: file)
            let (kind, payload) =
                alias == nil
                ? (JournalRecord.Kind.file, intent.path)
                : (.duplicate, DuplicateNote(file: file.identifier, path: intent.path).encoded)
            let record = JournalRecord(
                kind, of: file.identifier, generation: intent.high, number: intent.low, payloadCount: payload.count)
            let extent = try write(&state, room, of: file, as: alias ?? file.identifier) { add in
                unsafe add(record, payload.span.bytes, nil)
            }
            state.aliases[file] = alias
            if alias == nil { state.parts[state.active].owners[file.identifier] = file.inode }
            state.parts[state.active].intents[file] = intent
            return extent
        }
    }

    /// The intents of the files that have records and whose path is about to change, as far as the journal knows their
    /// paths.
    func intents(under change: PathChange) -> [FileIdentity: Intent] {
        state.withLock { state in
            var intents: [FileIdentity: Intent] = [:]
            for part in state.parts.sorted(by: { $0.epoch < $1.epoch }) {
                for (file, intent) in part.intents where change.concerns(intent.path) { intents[file] = intent }
            }
            return intents
        }
    }

    /// Notes an uncommitted create: a file whose header may not be on disk, and that replay can make from its records.
    func noteCreate(of file: FileIdentity) {
        state.withLock { $0.parts[$0.active].uncommittedCreates[file.inode] = file }
    }

    /// The uncommitted create of an inode, if there is one.
    func uncommittedCreate(inode: UInt64) -> FileIdentity? {
        state.withLock { state in
            let parts = state.parts.lazy.filter { $0.uncommittedCreates[inode] != nil }
            return parts.max { $0.epoch < $1.epoch }?.uncommittedCreates[inode]
        }
    }

    /// Whether a file was an uncommitted create; after this call it is none.
    func takeUncommittedCreate(_ file: FileIdentity) -> Bool {
        state.withLock { state in
            var isUncommitted = false
            for part in state.parts.indices where state.parts[part].uncommittedCreates[file.inode] == file {
                state.parts[part].uncommittedCreates[file.inode] = nil
                isUncommitted = true
            }
            return isUncommitted
        }
    }
}

extension Journal.State {
    fileprivate func hasRecords(of file: FileIdentity) -> Bool { parts.contains { $0.users[file] != nil } }

    /// The alias by which records must name a file, if another file of the same ID has records, which replay could take
    /// for this one's; else nil.
    fileprivate func alias(for file: FileIdentity) -> FileIdentifier? {
        if hasRecords(of: file) { return aliases[file] }
        let isTaken = parts.contains { $0.owners[file.identifier, default: file.inode] != file.inode }
        return isTaken ? FileIdentifier(Random.bytes(16)) : nil
    }
}
