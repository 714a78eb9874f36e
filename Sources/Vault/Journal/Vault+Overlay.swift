import Format
import Posix
import Store
import Writeback

/// What the journal says of a file in a read-only vault; it is shown as if it were in the file.
package struct Overlay: Sendable {
    /// The generation of the header on disk to which the overlay belongs.
    let generation: UInt64
    /// Nil if the header on disk still holds and only blocks have changed.
    package let header: FileHeader?
    let journaledBlocks: [UInt64: JournalExtent]
    let holes: RangeSet<UInt64>
    let modified: Timespec?
    let changed: Timespec?
}

/// All that a crash has left to be done in a read-only vault.
struct Overlays {
    var files: [FileIdentity: Overlay] = [:]
    /// The headers of files that replay would make from the journal alone, by the inodes of their void files.
    var made: [UInt64: FileHeader] = [:]
    /// The tombstones that replay would put back: empty directories that were moved aside.
    var tombstones: [FolderEntry: Name] = [:]

    /// The folder and the name that such a directory would have again.
    struct FolderEntry: Hashable {
        /// The folder's inode.
        let folder: UInt64
        let name: Name
    }
}

extension Vault {
    /// Reads what a crash has left in the journal, in a read-only vault.
    func overlayJournal() throws(VaultError) {
        guard !isOpen else { return }
        let journal = try RecoveryJournal(of: self)
        _ = meetJournal(journal?.head.nextEpoch, raising: 0)
        guard let old = journal else { return }
        left.windows.withLock { $0 = old.head.windows }
        guard old.head.opened != 0 else { return }
        left.windows.withLock {
            $0.append(JournalHead.Window(from: old.head.opened - min(old.head.opened, 2), to: .max))
        }
        let entries = try old.entries()
        var overlays = Overlays()
        overlays.tombstones = try old.tombstones(in: entries)
        for effect in try old.effects(of: entries) {
            overlays.files[FileIdentity(identifier: effect.file, inode: effect.inode)] = old.overlay(of: effect)
            if effect.generation == 0 { overlays.made[effect.inode] = effect.header }
        }
        self.left.overlays.withLock { $0 = overlays }
        self.journal.withLock { $0 = Journal(store: store, keys: keys, file: old.file, head: old.head) }
    }

    /// The overlay of a file with this header on disk, if there is one.
    package func overlay(of header: FileHeader, inode: UInt64) -> Overlay? {
        let identity = FileIdentity(identifier: header.file, inode: inode)
        guard isReadOnly, let overlay = left.overlays.withLock({ $0.files[identity] }),
            overlay.generation == header.generation
                || (overlay.generation == 0 && overlay.header?.generation == header.generation)
        else { return nil }
        return overlay
    }

    /// The header of a void file, if the journal has it.
    package func madeHeader(of descriptor: Descriptor) -> FileHeader? {
        guard isReadOnly, left.overlays.withLock({ !$0.made.isEmpty }), let status = try? store.status(of: descriptor)
        else {
            return nil
        }
        return left.overlays.withLock { $0.made[status.inode] }
    }

    /// The tombstone of the directory that had this name, if it was moved aside.
    func tombstone(for name: Name, in folder: Descriptor) -> Name? {
        guard isReadOnly, left.overlays.withLock({ !$0.tombstones.isEmpty }), let status = try? store.status(of: folder)
        else {
            return nil
        }
        return left.overlays.withLock { $0.tombstones[Overlays.FolderEntry(folder: status.inode, name: name)] }
    }

    /// The names that directories in a folder would have again, by their tombstones.
    package func tombstones(in folder: Descriptor) -> [Name: Name] {
        guard isReadOnly, left.overlays.withLock({ !$0.tombstones.isEmpty }), let status = try? store.status(of: folder)
        else {
            return [:]
        }
        var names: [Name: Name] = [:]
        for (entry, tombstone) in left.overlays.withLock({ $0.tombstones }) where entry.folder == status.inode {
            names[tombstone] = entry.name
        }
        return names
    }
}

extension RecoveryJournal {
    /// The overlay for what replay would do to a file.
    func overlay(of effect: Effect) -> Overlay {
        Overlay(
            generation: effect.generation, header: effect.header,
            journaledBlocks: effect.contents.blocks.mapValues { block in
                JournalExtent(offset: block.offset, count: block.count, sequence: 0)
            },
            holes: effect.contents.holes, modified: Timespec(effect.header.modified),
            changed: Timespec(effect.header.changed))
    }
}

extension RecoveryJournal {
    /// The directories that replay would put back.
    fileprivate func tombstones(in entries: [Entry]) throws(VaultError) -> [Overlays.FolderEntry: Name] {
        var tombstones: [Overlays.FolderEntry: Name] = [:]
        for entry in entries where entry.record.kind == .tombstone {
            guard let names = TombstoneNames(decoding: try payload(of: entry)),
                let folder = try vault.openFolderForReplay(names.folder),
                (try? vault.store.status(of: names.name, in: folder)) == nil,
                (try? vault.store.status(of: names.tombstone, in: folder)) != nil
            else { continue }
            let inode = try backing { () throws(Errno) in try vault.store.status(of: folder).inode }
            let entry = Overlays.FolderEntry(folder: inode, name: names.name)
            tombstones[entry] = tombstones[entry] ?? names.tombstone
        }
        return tombstones
    }
}
