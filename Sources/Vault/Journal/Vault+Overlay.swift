import Format
import Posix
import Store

/// What the journal says of a file that may not be written to: shown as if it were in the file.
struct Overlay: Sendable {
    /// Of the header on disk that it lies over.
    let generation: UInt64
    /// Nil where that one still holds, and blocks alone have changed.
    let header: FileHeader?
    let slots: [UInt64: Journal.Slot]
    let modified: Timespec?
}

extension Vault {
    /// Reads what a cut has left in the journal of a vault that is only read. Files that can only be made from it are not
    /// there until it is mounted to be written to.
    func overlayJournal() throws(VaultError) {
        guard !isOpen, let old = try OldJournal(of: self), old.head.opened != 0 else { return }
        var overlays: [FileIdentifier: Overlay] = [:]
        for effect in try old.effects(of: try old.entries()) where effect.generation > 0 {
            overlays[effect.file] = try old.overlay(of: effect)
        }
        self.overlays.withLock { $0 = overlays }
        journal.withLock { $0 = Journal(store: store, keys: keys, file: old.file, head: old.head) }
    }

    /// What lies over a file whose header on disk is this.
    func overlay(of header: FileHeader) -> Overlay? {
        guard isReadOnly, let overlay = overlays.withLock({ $0[header.file] }),
            overlay.generation == header.generation
        else { return nil }
        return overlay
    }
}

extension OldJournal {
    /// What the journal says of a file, to be shown and not to be written.
    func overlay(of effect: Effect) throws(VaultError) -> Overlay {
        let payload = try payload(of: effect.header)
        return Overlay(
            generation: effect.generation, header: try unsafe vault.header(from: payload.span.bytes),
            slots: effect.blocks.mapValues { entry in
                Journal.Slot(offset: entry.offset, count: entry.record.payloadCount, sequence: 0)
            },
            modified: effect.header.modified)
    }
}
