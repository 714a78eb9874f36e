import Posix
import Store

extension File {
    /// Flushes the backing file. A failure is final: the kernel tells of it once, and takes what it could not write for
    /// written from then on. What is on disk then the next session finds out.
    ///
    /// Needs no other lock than its own, which makes two flushes at once one after the other: both learn of a failure. That
    /// may be taken again by what an observer of the store does meanwhile.
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
    /// Flushes all that the backing store's file system has.
    func flushAll() throws(VaultError) {
        try flushingAll.withLock { () throws(VaultError) in
            do throws(Errno) { try store.synchronizeAll() } catch {
                hasFlushedAll.store(false, ordering: .relaxed)
                throw .system(error)
            }
        }
    }

    /// Whether all was flushed, so that each file was which has not failed by itself. Once a flush of all has failed it says
    /// nothing of any file any more: each is to be asked.
    func haveFlushedAll() -> Bool {
        flushingAll.withLock { hasFlushedAll.load(ordering: .relaxed) && (try? flushAll()) != nil }
    }
}
