import Format
import Freshness
import Posix
import Writeback

// A header that this process writes is remembered under the names that the file has been seen to have, and under no
// others of its bindings: a copy that another program has made of the backing file has the same ones.

extension File {
    /// Remembers the header that was just written to the backing file. Needs `lock` exclusively.
    ///
    /// - Parameter linkCount: how many names the backing file has, if that is known. If it has one for each binding, no
    ///   copy has any of them.
    func notePlacedHeader(linkCount: UInt64? = nil) {
        guard let freshness = vault.freshness else { return }
        var header = state.header
        header.provisionalLength = state.length
        let mark = Mark(header, time: Marks.now)
        placedMark = mark
        for key in markKeys {
            freshness.marks.note(mark, of: key, isOwn: true)
            vault.noteVersion(mark, by: header.machine, at: key, isOwn: true)
        }
        rememberRewritten()
        guard header.bindings.count > 1, linkCount == UInt64(header.bindings.count), !markKeys.isEmpty else { return }
        for binding in header.bindings {
            let key = MarkKey(identifier, at: binding)
            freshness.marks.raise(mark, of: key)
            guard !markKeys.contains(key), !otherKeys.contains(key) else { continue }
            // What was remembered there may be of another version.
            freshness.marks.forgetBounds(of: key)
            freshness.marks.copyBounds(from: markKeys[0], to: key)
            otherKeys.append(key)
        }
    }

    /// The header was read from the backing file. Needs `lock` exclusively.
    func noteFoundHeader() {
        if vault.freshness != nil { placedMark = Mark(state.header, time: Marks.now) }
    }

    /// The file has got a name.
    func noteName(_ key: MarkKey) {
        guard vault.freshness != nil else { return }
        lock.withExclusive { noteNameLocked(key) }
    }

    private func noteNameLocked(_ key: MarkKey) {
        guard let freshness = vault.freshness, freshness.remembers, let placedMark else { return }
        let isNew = !markKeys.contains(key)
        if isNew {
            // What was seen there is not what this version was made of.
            if freshness.marks[key].map({ $0.generation < placedMark.generation }) ?? false {
                freshness.marks.forgetBounds(of: key)
            }
            markKeys.append(key)
        }
        freshness.marks.note(placedMark, of: key, isOwn: true)
        vault.noteVersion(placedMark, by: state.header.machine, at: key, isOwn: true)
        if isNew, isBounded, markKeys[0] != key { freshness.marks.copyBounds(from: markKeys[0], to: key) }
        isBounded = isBounded || freshness.marks.hasBounds(of: key)
        rememberRewritten()
    }

    /// The file has got one name instead of another one. Needs `lock` exclusively.
    func noteMove(from old: NameBinding, to new: NameBinding) {
        guard let freshness = vault.freshness, old != new, let placedMark else { return }
        noteNameLocked(MarkKey(identifier, at: new))
        let key = MarkKey(identifier, at: old)
        markKeys.removeAll { $0 == key }
        otherKeys.removeAll { $0 == key }
        freshness.marks.noteGone(key, generation: placedMark.generation, time: Marks.now)
        freshness.accepted(key)
    }

    /// The file has lost a name. Needs `lock` exclusively.
    func noteLoss(at binding: NameBinding) {
        guard !markKeys.isEmpty else { return }
        let key = MarkKey(identifier, at: binding)
        markKeys.removeAll { $0 == key }
        otherKeys.removeAll { $0 == key }
    }

    /// The file is about to get a name: its next header is newer than what was seen there. Needs `lock` exclusively.
    func surpassMark(at binding: NameBinding) {
        let key = MarkKey(identifier, at: binding)
        guard let known = vault.freshness?.marks[key] else { return }
        let highest = max(known.generation, vault.ownGeneration(at: key))
        state.durable.surpass(min(highest, Marks.highestGeneration))
    }

    /// The file was found to be older than what this machine has seen. It may have been accepted since.
    func found(_ stale: StaleObject, refusing: Bool) {
        lock.withExclusive {
            guard let placedMark, let known = vault.freshness?.marks[stale.key], !known.verdict(on: placedMark).isFresh
            else { return }
            state.durable.surpass(min(known.generation, Marks.highestGeneration))
            if refusing { marks.isRefused.store(true, ordering: .relaxed) } else { isSuperseded = true }
        }
    }

    /// A file in memory was found under a name: compares it, if it was not seen to have that name. Nil if it is as new
    /// as what is remembered.
    ///
    /// - Parameter isThere: whether the name still is the file's.
    func meet(
        _ key: MarkKey, isThere: () throws(VaultError) -> Bool
    ) throws(VaultError) -> (remembered: Mark, found: Mark)? {
        guard let freshness = vault.freshness, !lock.withShared({ markKeys.contains(key) }) else { return nil }
        return try lock.withExclusive { () throws(VaultError) -> (Mark, Mark)? in
            guard let placedMark else { return nil }
            guard let known = freshness.marks[key], !known.verdict(on: placedMark).isFresh else {
                if freshness.remembers { noteNameLocked(key) }
                return nil
            }
            if vault.isUnseenVersion(placedMark, by: state.header.machine, at: key) {
                vault.takeVersion(placedMark, by: state.header.machine, at: key)
                return nil
            }
            // It may have lost the name, which is noted at once, or have it again, with a newer header.
            return try isThere() && freshness.marks[key] == known ? (known, placedMark) : nil
        }
    }

    /// Throws if the file is refused because it is older than what this machine has seen: its contents are not read,
    /// and nothing is changed that would make it the newest version.
    func refuseStale() throws(VaultError) {
        guard marks.isRefused.load(ordering: .relaxed) else { return }
        throw .stale("older than this machine has seen")
    }

    /// The next header has a higher generation than this.
    func raiseGeneration(above generation: UInt64) {
        lock.withExclusive { state.durable.surpass(min(generation, Marks.highestGeneration)) }
    }

    /// Writes a header with a higher generation than this to the backing file.
    func surpass(_ generation: UInt64) throws(VaultError) {
        raiseGeneration(above: generation)
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            try checkpointAlone(CheckpointRequest())
            return true
        }
        marks.isRefused.store(false, ordering: .relaxed)
    }
}
