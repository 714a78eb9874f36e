import Format
import Freshness
import Posix
import Writeback

extension File {
    /// Remembers the header that was just written to the backing file. Needs `lock` exclusively.
    func notePlacedHeader() {
        guard let freshness = vault.freshness else { return }
        var header = state.header
        header.provisionalLength = state.length
        let mark = Mark(header, time: Marks.now)
        placedMark = mark
        freshness.marks.noteHeader(mark, of: identifier, at: header.bindings)
    }

    /// The header was read from the backing file. Needs `lock` exclusively.
    func noteFoundHeader() {
        if vault.freshness != nil { placedMark = Mark(state.header, time: Marks.now) }
    }

    /// The file has got a name.
    func noteName(_ key: MarkKey) {
        guard let freshness = vault.freshness, freshness.remembers else { return }
        lock.withShared {
            if let placedMark { freshness.marks.note(placedMark, of: key, isOwn: true) }
        }
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
    }
}
