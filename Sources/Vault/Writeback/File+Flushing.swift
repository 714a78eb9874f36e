import Posix
import Store

extension File {
    /// Flushes the backing file. A failure is final: the kernel reports it once, and from then on takes what it could
    /// not write for written. The next session finds out what is on disk. A flush that was given up has not failed: the
    /// next one tells how it ended.
    ///
    /// Needs no lock but its own, which puts concurrent flushes one after the other, so that both learn of a failure.
    /// That lock is recursive because an observer of the store may flush the file once more meanwhile.
    func flush(dataOnly: Bool) throws(VaultError) {
        try flushes.lock.withLock { () throws(VaultError) in
            if let failure = flushes.failure.withLock({ $0 }), failure != .notAnswered { throw .system(failure) }
            do throws(Errno) { try vault.store.synchronize(descriptor, dataOnly: dataOnly) } catch {
                let before = flushes.failure.withLock { failure in
                    defer { failure = error }
                    return failure
                }
                // Until it is known how it ended, no flush of all tells that this file is durable.
                if before == nil { vault.freshness?.marks.flushFailed(by: 1) }
                throw .system(error)
            }
            let before = flushes.failure.withLock { failure in
                defer { failure = nil }
                return failure
            }
            if before != nil { vault.freshness?.marks.flushFailed(by: -1) }
        }
    }

    /// Throws what a flush has failed with, if one has. If one was given up, another one finds out.
    func refuseAfterFailure() throws(VaultError) {
        guard let failure = flushes.failure.withLock({ $0 }) else { return }
        guard failure == .notAnswered else { throw .system(failure) }
        try flush(dataOnly: true)
    }
}

extension Vault {
    /// Makes the names in a folder of the backing store durable. A failure is final, as with a file: until the next
    /// mount no later flush of this folder succeeds.
    func flush(folder: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in
            // Called only after a flush has failed.
            func inode() throws(Errno) -> UInt64 { try store.status(of: folder).inode }
            if flushes.folderFailures.withLock({ !$0.isEmpty }) {
                let inode = try inode()
                if let failure = flushes.folderFailures.withLock({ $0[inode] ?? $0[0] }) { throw failure }
            }
            do throws(Errno) { try store.synchronize(folder, dataOnly: false) } catch {
                guard error != .notAnswered else { throw error }
                // The failure is kept even if the folder's inode is unknown: no inode has the number 0.
                let inode = (try? inode()) ?? 0
                flushes.folderFailures.withLock { $0[inode] = error }
                throw error
            }
        }
    }

    /// Flushes the backing store's whole file system. A failure is final here too, and so is one of a single folder's
    /// flush.
    package func flushAll() throws(VaultError) {
        try flushes.ofAll.lock.withLock { () throws(VaultError) in
            if let failure = flushes.folderFailures.withLock({ $0.values.first }) { throw .system(failure) }
            if let failure = flushes.ofAll.failure.withLock({ $0 }) { throw .system(failure) }
            let flush = freshness?.marks.beginFlush()
            var isFlushed = false
            defer { if let flush { freshness?.marks.endFlush(flush, succeeded: isFlushed) } }
            do throws(Errno) { try store.synchronizeAll() } catch {
                if error != .notAnswered { flushes.ofAll.failure.withLock { $0 = error } }
                throw .system(error)
            }
            isFlushed = true
        }
    }

    /// Whether all was flushed: then each file was, unless its own flush has failed. After a failed flush of all, or of
    /// a folder, this is false, and each file must be flushed alone.
    func haveFlushedAll() -> Bool { (try? flushAll()) != nil }

    /// Forgets the failure of a folder that is being removed: its inode number may be used again.
    func forgetFailure(ofFolder name: Name, in parent: Descriptor) {
        guard flushes.folderFailures.withLock({ !$0.isEmpty }),
            let inode = try? store.status(of: name, in: parent).inode
        else {
            return
        }
        flushes.folderFailures.withLock { $0[inode] = nil }
    }
}
