import Posix
import Store

extension File {
    /// Flushes the backing file. A failure is final: the kernel tells of it once, and takes what it could not write for
    /// written from then on. What is on disk then the next session finds out.
    ///
    /// Needs no other lock than its own, which makes two flushes at once one after the other: both learn of a failure.
    /// That may be taken again by what an observer of the store does meanwhile.
    func flush(dataOnly: Bool) throws(VaultError) {
        try flushing.withLock { () throws(VaultError) in
            try refuseAfterFailure()
            do throws(Errno) { try vault.store.synchronize(descriptor, dataOnly: dataOnly) } catch {
                flushFailure.withLock { $0 = error }
                throw .system(error)
            }
        }
    }

    /// Throws what a flush has failed with, if one has.
    func refuseAfterFailure() throws(VaultError) {
        if let failure = flushFailure.withLock({ $0 }) { throw .system(failure) }
    }
}

extension Vault {
    /// Makes the names in a folder of the backing store durable. A failure is final, as of a file: until the next mount
    /// no flush of this folder says again that all is well.
    func flush(folder: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in
            // Asked for only where one has failed.
            func inode() throws(Errno) -> UInt64 { try store.status(of: folder).inode }
            if folderFailures.withLock({ !$0.isEmpty }) {
                let inode = try inode()
                if let failure = folderFailures.withLock({ $0[inode] ?? $0[0] }) { throw failure }
            }
            do throws(Errno) { try store.synchronize(folder, dataOnly: false) } catch {
                // Remembered whether it can be told which one it was or not: no inode has the number 0.
                let inode = (try? inode()) ?? 0
                folderFailures.withLock { $0[inode] = error }
                throw error
            }
        }
    }

    /// Flushes all that the backing store's file system has. A failure is final here too, also that of a single folder.
    package func flushAll() throws(VaultError) {
        try flushingAll.withLock { () throws(VaultError) in
            if let failure = folderFailures.withLock({ $0.values.first }) { throw .system(failure) }
            if let failure = flushAllFailure.withLock({ $0 }) { throw .system(failure) }
            do throws(Errno) { try store.synchronizeAll() } catch {
                flushAllFailure.withLock { $0 = error }
                throw .system(error)
            }
        }
    }

    /// Whether all was flushed, so that each file was which has not failed by itself. Once a flush of all has failed,
    /// or one of a folder, it says nothing any more: each is to be asked.
    func haveFlushedAll() -> Bool { (try? flushAll()) != nil }

    /// A folder is gone, and its inode's number may come back.
    func forgetFailure(ofFolder name: Name, in parent: Descriptor) {
        guard folderFailures.withLock({ !$0.isEmpty }), let inode = try? store.status(of: name, in: parent).inode else {
            return
        }
        folderFailures.withLock { $0[inode] = nil }
    }
}
