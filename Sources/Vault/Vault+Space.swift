extension Vault {
    /// Runs `body`, which changes nothing when it fails or may be done over, and once more if the store has no room for
    /// it while files that are removed still have theirs: a crash must find them until their removal is durable. No
    /// lock may be held.
    public func reclaimingSpace<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
        do throws(VaultError) { return try body() } catch {
            guard error.isFullDisk, files.dirty.contains(where: \.hasLostItsName) else { throw error }
            // Whoever asked for one of these flushes is told of its failure; this one is told that there is no room.
            try? checkpoint()
            return try body()
        }
    }
}

extension File {
    /// Its last name is gone, and it waits to be checkpointed.
    fileprivate var hasLostItsName: Bool { lock.withShared { state.writeback.removedFrom != nil } }
}
