import Format
import Posix
import Store

extension RecoveryJournal {
    /// Gives the space of the journal behind its last records back to the store. A crash brings back files that were
    /// removed just before it, and whose space may have been written to since: on a full disk the replay then lacks
    /// space. `ENOSPC` if the store cannot punch holes.
    func giveBackSpace(behind entries: [Entry]) throws(VaultError) {
        try backing { () throws(Errno) in
            do throws(Errno) {
                for part in 0..<head.parts {
                    let (start, end) = (Int64(head.offset(ofPart: part)), Int64(head.offset(ofPart: part + 1)))
                    let used = entries.filter { (start..<end).contains($0.offset) }.map(\.end).max() ?? start
                    guard used < end else { continue }
                    try vault.store.allocate(
                        file, mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: used, length: end - used)
                }
                // The punched blocks are free only once that is durable.
                try vault.store.synchronize(file, dataOnly: false)
            } catch {
                throw error == .EOPNOTSUPP || error == .ENOSYS ? .ENOSPC : error
            }
        }
    }
}

extension RecoveryJournal.Entry {
    /// The offset behind the record's MAC.
    fileprivate var end: Int64 { offset + Int64(record.byteCount - JournalRecord.prefixByteCount) }
}
