import Format
import Posix
import Store

// Whose records lie in which half.

extension Journal {
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
}
