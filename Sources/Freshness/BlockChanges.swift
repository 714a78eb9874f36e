import Format

/// Bounds of blocks on their way to the file of marks, as marks are. Not thread-safe.
struct BlockChanges: Sendable {
    /// The store may not have the blocks durably yet.
    var waiting = BlockTable()
    /// A flush under way makes them durable.
    var flushing = BlockTable()
    private var unsaved: [MarkKey: Unsaved] = [:]

    /// What is durable, and the file does not say yet.
    struct Unsaved {
        /// What the file says of the name so far counts no more.
        var isReset = false
        var bounds = BlockBounds()

        func entries(of key: MarkKey) -> [MarkEntry] {
            let reset = MarkEntry.blocks(BlockRecord(key, BlockRun(first: 0, count: 0, number: 0)))
            return (isReset ? [reset] : []) + bounds.entries(of: key)
        }
    }

    /// - Parameter durable: gets what the flush has made durable.
    mutating func endFlush(succeeded: Bool, _ durable: inout BlockTable) {
        flushing.forEach { key, bounds in
            guard succeeded else {
                waiting.raise(bounds, of: key)
                return
            }
            if durable.raise(bounds, of: key) { unsaved[key, default: Unsaved()].bounds.merge(bounds) }
        }
        flushing = BlockTable()
    }

    /// Nothing that was remembered of the blocks counts.
    mutating func reset(_ key: MarkKey) {
        waiting.forget(key)
        flushing.forget(key)
        unsaved[key] = Unsaved(isReset: true)
    }

    /// Whether the file does not say yet what is remembered of the blocks.
    func isUnsaved(_ key: MarkKey) -> Bool { unsaved[key] != nil }

    mutating func takeUnsaved() -> [MarkKey: Unsaved] {
        defer { unsaved = [:] }
        return unsaved
    }

    /// Those could not be written.
    mutating func putBack(_ older: [MarkKey: Unsaved]) {
        unsaved.merge(older) { newer, older in
            guard !newer.isReset else { return newer }
            var both = older
            both.bounds.merge(newer.bounds)
            return both
        }
    }
}
