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
            if let failure = flushFailure.withLock({ $0 }) { throw .system(failure) }
            do throws(Errno) { try vault.store.synchronize(descriptor, dataOnly: dataOnly) } catch {
                flushFailure.withLock { $0 = error }
                throw .system(error)
            }
        }
    }
}

extension Vault {
    /// Flushes all that the backing store's file system has. Once that has failed it says nothing of any file any more:
    /// each is to be asked by itself.
    func flushAll() throws(VaultError) {
        do { try store.synchronizeAll() } catch {
            hasFlushedAll.store(false, ordering: .relaxed)
            throw .system(error)
        }
    }
}
