import Writeback

extension Vault {
    /// Runs `body`, and once more if the store has no room while removed files still take theirs: a removed file keeps
    /// its blocks for a crash until its removal is durable, and a checkpoint makes it so. A `body` that fails must have
    /// changed nothing, or be repeatable. The caller holds no `File.lock` and not `checkpointing`.
    public func reclaimingSpace<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
        do throws(VaultError) { return try body() } catch {
            guard error.isFullDisk, files.dirty.contains(where: \.hasLostItsName) else { throw error }
            // If a flush fails, that is an error for the callers that wait for it; this caller learns that there is no
            // room.
            try? checkpoint()
            return try body()
        }
    }
}

extension File {
    /// The file has lost its last name, and waits for a checkpoint.
    fileprivate var hasLostItsName: Bool { lock.withShared { state.names.removedFrom != nil } }
}
