public import Crypto
public import Format
public import Posix
import Synchronization

/// What this machine remembers of the files of a vault: a lower bound of how new each is. Thread-safe; no call waits
/// for a disk but `save` and `forgetAll`.
///
/// What is noted counts at once in this process, and goes to the file only after the whole store was flushed: after a
/// power loss the file must not know of more than the store has.
public final class Marks: Sendable {
    /// How many names are remembered at most: beyond that, new ones are not.
    public static let most = 4 << 20
    /// How many names that are gone are remembered; the older half is forgotten when there are more.
    public static let mostGone = 1 << 18
    /// The same of values. One program that changes an attribute again and again makes no file be forgotten.
    public static let mostGoneValues = 1 << 16
    /// More records than that, without those that no longer count, are in no file.
    static let mostRecords = most + BlockTable.most
    /// Beyond so many marks that wait for a flush, files that were only seen are not noted.
    static let mostWaiting = 1 << 17
    /// No header of a higher generation is remembered: a thief of the keys could make one that no later one surpasses.
    public static let highestGeneration: UInt64 = 1 << 62

    fileprivate struct State {
        var table = MarkTable()
        /// The marks whose headers or names the store may not have durably yet, each with what was remembered before.
        var waiting: [MarkKey: Mark?] = [:]
        /// Those that a flush under way makes durable.
        var flushing: [MarkKey: Mark?] = [:]
        /// The durable marks that the file does not have yet.
        var unsaved: [MarkKey: Mark] = [:]
        /// The same of bounds of blocks; `table` has those that are durable.
        var blocks = BlockChanges()
        /// Grows with each flush that begins and with `forgetAll`.
        var flush: UInt64 = 0
        /// How many files could not be flushed alone.
        var failedFlushes = 0

        var hasTooManyGone: Bool {
            table.goneCount.names > Marks.mostGone || table.goneCount.values > Marks.mostGoneValues
        }
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state: ContendedMutex<State>
    /// Held while the file is written to; nil if it is only read. `state` is taken under it. Lock order:
    /// docs/ARCHITECTURE.md.
    private let file: Mutex<MarkFile?>
    private let isWanted: @Sendable () -> Bool

    /// Reads the file, or makes an empty one.
    ///
    /// - Parameters:
    ///   - cipher: keyed for the volume's marks.
    ///   - owner: who gets a file that is made; nil for this process.
    ///   - patience: how long to wait for another process that has the file.
    ///   - isWanted: whether a file that was removed meanwhile is to be made anew: not if the vault was erased.
    /// - Throws: EWOULDBLOCK if another process has the file; any other error of the file.
    public init(
        path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher, owner: (user: UInt32, group: UInt32)? = nil,
        patience: Duration = .seconds(1), isWanted: @escaping @Sendable () -> Bool = { true }
    ) throws(Errno) {
        self.isWanted = isWanted
        var table = MarkTable()
        let read = try MarkFile(
            path: path, volume: volume, cipher: cipher, most: 2 * Self.mostRecords, owner: owner, patience: patience
        ) { table.take($0, most: Self.most) }
        state = ContendedMutex(State(table: table))
        file = Mutex(read)
    }

    /// Reads the file, which another process may write to.
    ///
    /// - Throws: ENOENT if nothing is remembered; any other error of the file.
    public init(reading path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher) throws(Errno) {
        isWanted = { false }
        var table = MarkTable()
        try MarkFile.read(path, volume: volume, cipher: cipher, most: 2 * Self.mostRecords) {
            table.take($0, most: Self.most)
        }
        state = ContendedMutex(State(table: table))
        file = Mutex(nil)
    }

    /// Nothing is remembered, and nothing will be written down.
    public init() {
        isWanted = { false }
        state = ContendedMutex(State())
        file = Mutex(nil)
    }

    /// How many names are remembered, and what that takes in memory.
    public var size: (count: Int, bytes: Int) { state.withLock { ($0.table.count, $0.table.byteCount) } }

    /// All that is remembered now.
    public var table: MarkTable { state.withLock { $0.table } }

    public subscript(key: MarkKey) -> Mark? { state.withLock { $0.table[key] } }

    /// The time of a mark that is made now.
    public static var now: UInt32 { UInt32(clamping: Timespec.now.seconds) }

    /// Compares what was found under a name, and remembers it if it is new. Returns what is remembered if that tells of
    /// something newer, or of a conflict; the caller then looks again.
    ///
    /// - Parameter isNoted: remember it; otherwise only compare.
    public func meet(_ found: Mark, at key: MarkKey, isNoted: Bool) -> Mark? {
        state.withLock { state in
            guard let known = state.table[key] else {
                if isNoted { state.note(found, of: key, isOwn: false) }
                return nil
            }
            switch known.verdict(on: found) {
            case .same: return nil
            case .newer:
                // Another machine, or a session that was killed, has written it. It need not be made of what this one
                // remembers: of its blocks nothing is known.
                if found.generation > known.generation { state.forgetBounds(of: key) }
                if isNoted { state.note(found, of: key, isOwn: false) }
                return nil
            case .older, .back, .conflict: return known
            }
        }
    }

    /// Whether something newer than this generation is remembered of a name.
    public func surpass(_ generation: UInt64, at key: MarkKey) -> Bool {
        guard let known = self[key] else { return false }
        return known.generation > generation || known.isGone && known.generation == generation
    }

    /// Remembers what was found under a name, or put there; does nothing if something as new is remembered.
    ///
    /// - Parameter isOwn: this process has written it. What was only found is left out if too much waits for a flush.
    public func note(_ mark: Mark, of key: MarkKey, isOwn: Bool) {
        state.withLock { $0.note(mark, of: key, isOwn: isOwn) }
    }

    /// What was found is there on purpose: it counts from now on, although something newer was seen.
    public func replace(by found: Mark, at key: MarkKey) {
        state.withLock { state in
            guard found.generation <= Self.highestGeneration else { return }
            let known = state.table[key]
            state.forgetBounds(of: key)
            if state.waiting[key] == nil { state.waiting[key] = .some(known) }
            state.table.set(found, for: key)
        }
    }

    /// The same for a name that is remembered already, and was not lost.
    public func raise(_ mark: Mark, of key: MarkKey) {
        state.withLock { state in
            guard let known = state.table[key], !known.isGone else { return }
            state.note(mark, of: key, isOwn: true)
        }
    }

    /// Remembers that a file has lost a name: nothing of this generation, or older, belongs there.
    ///
    /// - Parameter generation: of its header; nil if nothing newer than what is remembered was there.
    public func noteGone(_ key: MarkKey, generation: UInt64?, time: UInt32) {
        state.withLock { state in
            guard let known = state.table[key] else { return }
            var mark = known
            mark.generation = max(known.generation, min(generation ?? 0, Self.highestGeneration))
            mark.time = time
            mark.isGone = true
            state.note(mark, of: key, isOwn: true)
        }
    }

    /// Remembers that a directory has lost a name: no record of this generation, or an older one, belongs there.
    public func noteGone(_ record: DirectoryRecord, of key: MarkKey) {
        state.withLock { state in
            var mark = Mark(record, time: Self.now, isGone: true)
            mark.generation = max(mark.generation, state.table[key]?.generation ?? 0)
            state.note(mark, of: key, isOwn: true)
        }
    }

    /// Remembers that a value was replaced or removed.
    public func noteGone(value key: MarkKey) { state.withLock { $0.noteValue(key, isGone: true) } }

    /// A value that was replaced or removed is there on purpose.
    public func accept(value key: MarkKey) { state.withLock { $0.noteValue(key, isGone: false) } }

    // MARK: Blocks

    /// Remembers lower bounds of the numbers of a file's blocks, under each of its names.
    public func note(_ bounds: BlockBounds, of keys: [MarkKey]) {
        state.withLock { state in
            for key in keys where state.table[key].map({ !$0.isGone }) ?? false {
                state.blocks.waiting.raise(bounds, of: key)
            }
        }
    }

    /// A file has got another name: what is remembered of its blocks counts there, too.
    public func copyBounds(from key: MarkKey, to other: MarkKey) {
        state.withLock { state in
            for bounds in state.bounds(of: key) { state.blocks.waiting.raise(bounds, of: other) }
        }
    }

    /// Whether something is remembered of a file's blocks.
    public func hasBounds(of key: MarkKey) -> Bool { state.withLock { !$0.bounds(of: key).isEmpty } }

    /// The lowest numbers that some blocks of a file may have, one for each; nil if any.
    public func bounds(of blocks: Range<UInt64>, under keys: [MarkKey]) -> [UInt64]? {
        state.withLock { state in
            var all: [UInt64]?
            for key in keys {
                for bounds in state.bounds(of: key) {
                    let found = blocks.map { bounds[$0] }
                    all = all.map { zip($0, found).map(max) } ?? found
                }
            }
            return all
        }
    }

    /// Forgets the bounds of a file's blocks under a name: what is in the vault now is as it should be.
    public func forgetBounds(of key: MarkKey) {
        state.withLock { $0.forgetBounds(of: key) }
    }

    /// Forgets everything: what is in the vault now is as it should be.
    public func forgetAll() throws(Errno) {
        try file.withLock { (file) throws(Errno) in
            guard file != nil else { throw .EROFS }
            try file?.replace(by: MarkTable()) { _ in nil }
            state.withLock { state in
                state = State(flush: state.flush + 1, failedFlushes: state.failedFlushes)
            }
        }
    }

    /// Takes in what another file remembers, durably: of each name, the newer mark counts.
    public func merge(_ other: MarkTable) throws(Errno) {
        try file.withLock { (file) throws(Errno) in
            guard file != nil else { throw .EROFS }
            let (table, volatile) = state.withLock { state in
                other.forEach { key, mark in
                    guard mark.generation <= Self.highestGeneration else { return }
                    if let known = state.table[key] {
                        // The bounds of blocks belong to the mark.
                        if mark.isSameVersion(as: known) { state.table.takeBounds(of: key, from: other) }
                        guard mark.isNewer(than: known) else { return }
                    } else {
                        guard state.table.count < Self.most else { return }
                    }
                    state.table.set(mark, for: key)
                    state.table.blocks.forget(key)
                    state.table.takeBounds(of: key, from: other)
                }
                return (state.table, state.waiting.merging(state.flushing) { _, older in older })
            }
            // What waits for a flush is written by a later `save`.
            try file?.replace(by: table) { key in volatile[key].map { $0 ?? other[key] } ?? table[key] }
        }
    }

    // MARK: Flushes

    /// Whether marks wait for a flush of the store, and whether there are so many that it should not wait.
    public var waiting: (any: Bool, many: Bool) {
        state.withLock { state in
            (
                !state.waiting.isEmpty || !state.blocks.waiting.isEmpty,
                state.waiting.count + state.blocks.waiting.count > Self.mostWaiting / 2
            )
        }
    }

    /// A flush of the whole store is about to begin. Returns what `endFlush` wants; nil if it would not help.
    public func beginFlush() -> UInt64? {
        state.withLock { state in
            // An earlier one is under way.
            guard state.flushing.isEmpty, state.blocks.flushing.isEmpty,
                !state.waiting.isEmpty || !state.blocks.waiting.isEmpty
            else { return nil }
            swap(&state.flushing, &state.waiting)
            swap(&state.blocks.flushing, &state.blocks.waiting)
            state.flush += 1
            return state.flush
        }
    }

    /// A file could not be flushed alone, or could be since. As long as there are some, a flush of the whole store does
    /// not count.
    public func flushFailed(by number: Int) { state.withLock { $0.failedFlushes += number } }

    /// The flush has ended.
    public func endFlush(_ flush: UInt64, succeeded: Bool) {
        state.withLock { state in
            guard state.flush == flush else { return }
            let succeeded = succeeded && state.failedFlushes == 0
            for (key, before) in state.flushing {
                if !succeeded {
                    state.waiting[key] = .some(before)
                } else if let newer = state.waiting[key] {
                    // Noted once more meanwhile: what was remembered before that is what the flush has made durable.
                    if let newer { state.unsaved[key] = newer }
                } else if let mark = state.table[key] {
                    state.unsaved[key] = mark
                }
            }
            state.flushing = [:]
            state.blocks.endFlush(succeeded: succeeded, &state.table.blocks)
        }
    }

    // MARK: The file

    /// Writes what is durable and not in the file yet, and the file anew if it has become twice as large as necessary.
    ///
    /// If it throws, nothing is forgotten, and the next call tries again.
    public func save() throws(Errno) {
        try file.withLock { (file) throws(Errno) in
            guard file != nil else { return }
            // Looked for in a copy: this takes long in a large table.
            let full = state.withLock { $0.hasTooManyGone ? $0.table : nil }
            let forgotten =
                full.map {
                    $0.goneBeyond(Self.mostGone, ofValues: false) + $0.goneBeyond(Self.mostGoneValues, ofValues: true)
                } ?? []
            let (unsaved, blocks, count) = state.withLock { state in
                state.forget(forgotten)
                defer { state.unsaved = [:] }
                return (state.unsaved, state.blocks.takeUnsaved(), state.table.count + state.table.blocks.count)
            }
            guard !unsaved.isEmpty || !blocks.isEmpty else { return }
            let entries =
                unsaved.map { MarkEntry.mark($0.key, $0.value) } + blocks.flatMap { $0.value.entries(of: $0.key) }
            do throws(Errno) { try write(entries, to: &file!, remembering: count) } catch {
                state.withLock { state in
                    state.unsaved.merge(unsaved) { newer, _ in newer }
                    state.blocks.putBack(blocks)
                }
                throw error
            }
        }
    }

    private func write(
        _ unsaved: [MarkEntry], to file: inout MarkFile, remembering count: Int
    ) throws(Errno) {
        let isIntact = file.isIntact
        guard isIntact || isWanted() else { return }
        guard file.count + unsaved.count > 2 * count + MarkFile.batch || !isIntact else {
            return try file.append(unsaved)
        }
        let (table, volatile) = state.withLock { state in
            (state.table, state.waiting.merging(state.flushing) { _, older in older })
        }
        try file.replace(by: table) { (key) in
            guard let before = volatile[key] else { return table[key] }
            return before
        }
    }
}

extension Marks.State {
    fileprivate func bounds(of key: MarkKey) -> [BlockBounds] {
        [table.blocks[key], blocks.flushing[key], blocks.waiting[key]].compactMap(\.self)
    }

    fileprivate mutating func forgetBounds(of key: MarkKey) {
        guard !bounds(of: key).isEmpty || blocks.isUnsaved(key) else { return }
        table.blocks.forget(key)
        blocks.reset(key)
    }

    fileprivate mutating func noteValue(_ key: MarkKey, isGone: Bool) {
        let known = table[key]
        // A nonce that was planted may have the key of something else.
        guard known?.kind ?? .value == .value, key != .journal, known?.isGone ?? false != isGone else { return }
        note(
            Mark(
                generation: (known?.generation ?? 0) + 1, digest: 0, time: Marks.now, protectionClass: .none,
                isGone: isGone, kind: .value), of: key, isOwn: true)
    }

    fileprivate mutating func note(_ mark: Mark, of key: MarkKey, isOwn: Bool) {
        guard mark.generation <= Marks.highestGeneration else { return }
        let known = table[key]
        if let known {
            guard mark.isNewer(than: known) || known.kind == .value && mark.kind != .value else { return }
        } else {
            guard table.count < Marks.most else { return }
        }
        // If no flush succeeds any more, nothing of this would ever be written down.
        guard waiting.count < (isOwn ? 4 : 1) * Marks.mostWaiting else { return }
        if waiting[key] == nil { waiting[key] = .some(known) }
        // The record that it is gone may never be written, if the name comes back before.
        if mark.isGone { forgetBounds(of: key) }
        table.set(mark, for: key)
    }

    fileprivate mutating func forget(_ keys: [MarkKey]) {
        for key in keys where table[key]?.isGone ?? false {
            table.remove(key)
            waiting[key] = nil
            flushing[key] = nil
            unsaved[key] = nil
        }
    }
}
