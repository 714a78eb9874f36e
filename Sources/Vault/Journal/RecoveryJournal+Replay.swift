import Format
import Posix
import Store

// docs/FORMAT.md, "Replay". Each file is brought to where its last durable record says. A crash in the middle does no
// harm: a second replay gives the same result.

extension RecoveryJournal {
    /// What the journal says of one file.
    struct Intent {
        /// The ID in its header.
        let file: FileIdentifier
        /// Its *file* and *duplicate* records. `index` is the record's position in the journal: what follows it counts
        /// for a file whose generation fits.
        var files: [(index: Int, path: [UInt8], names: BackingPath, low: UInt64, high: UInt64)] = []
        var isForgotten = false

        /// Its path could not be found out when it was noted.
        var lacksPath: Bool { files.contains { $0.names.names.isEmpty } }

        /// The index from which on records count for a file with this generation on disk; nil if none does.
        func first(fitting generation: UInt64) -> Int? {
            files.first { $0.low <= generation && generation <= $0.high }?.index
        }
    }

    /// What replay does to one file: the records that count, in their order.
    struct Effect {
        /// The ID in its header.
        let file: FileIdentifier
        let descriptor: Descriptor
        let inode: UInt64
        /// The generation of the header on disk; 0 for a file that a crash has left empty.
        let generation: UInt64
        let entries: [Entry]
        /// The header in the last record that counts. Records behind it belong to a write that no sync has
        /// acknowledged, and this header may not fit them: a last block that has grown or shrunk has another length
        /// than it says.
        let header: FileHeader

        /// The last version of each block, and the holes, which are made first.
        var contents: (blocks: [UInt64: StoredBlock], holes: RangeSet<UInt64>) {
            var blocks: [UInt64: StoredBlock] = [:]
            var holes = RangeSet<UInt64>()
            let sparse = header.firstSparseBlock
            let possible = sparse..<max(sparse, BlockGeometry.blockCount(forLength: header.provisionalLength))
            for entry in entries {
                for (index, block) in entry.blocks.enumerated() {
                    blocks[entry.record.number + UInt64(index)] = block
                }
                if let hole = entry.hole?.clamped(to: possible), !hole.isEmpty {
                    holes.insert(contentsOf: hole)
                    for block in blocks.keys where hole.contains(block) { blocks[block] = nil }
                }
            }
            return (blocks, holes)
        }
    }

    /// Brings the files durably to where the last session left them.
    package func replay() throws(VaultError) { try replay(try entries()) }

    func replay(_ entries: [Entry]) throws(VaultError) {
        for entry in entries where entry.record.kind == .tombstone {
            if let names = TombstoneNames(decoding: try payload(of: entry)) { try putBack(names) }
        }
        var hasGivenBack = false
        for effect in try effects(of: entries) {
            do throws(VaultError) { try apply(effect) } catch {
                guard error.isFullDisk, !hasGivenBack else { throw error }
                try giveBackSpace(behind: entries)
                hasGivenBack = true
                try apply(effect)
            }
        }
    }

    /// What the records amount to, given the files on disk.
    func effects(of entries: [Entry]) throws(VaultError) -> [Effect] {
        /// By the ID or the alias by which the records name the file.
        var intents: [FileIdentifier: Intent] = [:]
        var order: [FileIdentifier] = []
        /// The file that was made last under each path.
        var owners: [[UInt8]: FileIdentifier] = [:]
        for (index, entry) in entries.enumerated() {
            let tag = entry.record.file
            switch entry.record.kind {
            case .file, .duplicate:
                guard let note = try note(of: entry) else { continue }
                if intents[tag] == nil { order.append(tag) }
                intents[tag, default: Intent(file: note.file)].files.append(
                    (index, note.path, note.names, entry.record.number, entry.record.generation))
                intents[tag]!.isForgotten = false
                owners[note.path] = tag
            case .forget:
                intents[tag]?.isForgotten = true
            case .tombstone, .block, .blocks, .header, .hole:
                break
            }
        }
        var effects: [Effect] = []
        /// The index in `effects` of each file, by inode. If several lead to one file, the last one counts.
        var indices: [UInt64: Int] = [:]
        var places: [FileIdentifier: Found] = [:]
        var paths = ReplayPaths(of: vault)
        for tag in order {
            let intent = intents[tag]!
            // The last path first: if the file is not there, a folder above it was to get another name and did not.
            for (_, path, names, _, _) in intent.files.reversed() where places[tag] == nil {
                places[tag] = try find(intent, names, &paths)
                // A file is made again only if the journal has all of it and no later file has its name.
                let isOwner = owners[path] == tag && !intent.isForgotten && intent.files.last!.low == 0
                if places[tag]?.generation == 0 && !isOwner { places[tag] = nil }
            }
        }
        try searchByHeader(for: intents.filter { places[$0.key] == nil && $0.value.lacksPath }, into: &places)
        if vault.options.isShared {
            try searchByName(for: intents.filter { places[$0.key] == nil && !$0.value.isForgotten }, into: &places)
        }
        for tag in order {
            let intent = intents[tag]!
            guard let found = places[tag] else { continue }
            guard let first = intent.first(fitting: found.generation) else { continue }
            let records = entries[first...].filter { $0.record.file == tag }
            guard let (last, header) = try lastHeader(of: intent.file, in: records) else { continue }
            let inode = try backing { () throws(Errno) in try vault.store.status(of: found.descriptor).inode }
            let effect = Effect(
                file: intent.file, descriptor: found.descriptor, inode: inode, generation: found.generation,
                entries: Array(records[...last]), header: header)
            if let index = indices[inode] {
                effects[index] = effect
            } else {
                indices[inode] = effects.count
                effects.append(effect)
            }
        }
        return effects
    }

    /// Makes durable what lies in place of the files that the journal names: the machine whose journal it is may have
    /// died between placing and flushing.
    ///
    /// A file that does not lie where the journal says was found by the replay, which has flushed it, or is gone.
    func flushNamedFiles(_ entries: [Entry]) throws(VaultError) {
        var seen: Set<[UInt8]> = []
        var paths = ReplayPaths(of: vault)
        for entry in entries where entry.record.kind == .file || entry.record.kind == .duplicate {
            guard let note = try note(of: entry), seen.insert(note.path).inserted,
                let file = try paths.openFile(note.names)
            else { continue }
            try backing { () throws(Errno) in try vault.store.synchronize(file, dataOnly: false) }
        }
    }

    /// The file that a *file* or *duplicate* record is about, and its path; nil for a record that does not count.
    func note(of entry: Entry) throws(VaultError) -> (file: FileIdentifier, path: [UInt8], names: BackingPath)? {
        let payload = try payload(of: entry)
        let note =
            entry.record.kind == .duplicate
            ? try? DuplicateNote(decoding: payload) : DuplicateNote(file: entry.record.file, path: payload)
        guard let note, let names = BackingPath(note.path) else { return nil }
        return (note.file, note.path, names)
    }

    /// The last header among the records that a reader accepts, and its index.
    private func lastHeader(of file: FileIdentifier, in records: [Entry]) throws(VaultError) -> (Int, FileHeader)? {
        for index in records.indices.reversed() where records[index].record.kind == .header {
            guard records[index].record.payloadCount == FileHeader.byteCount else { continue }
            let bytes = try payload(of: records[index])
            do throws(VaultError) {
                let header = try unsafe vault.header(from: bytes.span.bytes)
                if header.file == file { return (index, header) }
            } catch {
                guard case .damaged = error else { throw error }
            }
        }
        return nil
    }

    struct Found {
        let descriptor: Descriptor
        /// The generation of the header on disk; 0 for a file that a crash has left empty.
        let generation: UInt64
    }

    /// Finds a file where its records say that it lies; nil if it is not there.
    private func find(
        _ intent: Intent, _ path: BackingPath, _ paths: inout ReplayPaths
    ) throws(VaultError) -> Found? {
        guard let descriptor = try paths.openFile(path) else { return nil }
        do throws(VaultError) {
            let header = try vault.readHeader(of: descriptor)
            guard concerns(header) else { return nil }
            return header.file == intent.file ? Found(descriptor: descriptor, generation: header.generation) : nil
        } catch {
            guard case .damaged = error else { throw error }
            return try vault.isVoid(descriptor) ? Found(descriptor: descriptor, generation: 0) : nil
        }
    }

    /// Whether the journal may know of a header. What a machine has written since the vault became a synchronised one,
    /// a journal from before has not seen, whatever the generations are.
    func concerns(_ header: FileHeader) -> Bool { !isEarlier || header.machine == 0 }

    /// Makes the holes, puts the last version of each block in place, then writes the last header. The blocks are
    /// durable before the header is written, so that it never confirms what is not there.
    private func apply(_ effect: Effect) throws(VaultError) {
        try vault.keepingSetID(of: effect.descriptor) { () throws(VaultError) in
            try apply(effect, to: effect.descriptor)
        }
    }

    private func apply(_ effect: Effect, to file: Descriptor) throws(VaultError) {
        let before = try backing { () throws(Errno) in try vault.store.status(of: file) }
        let (blocks, holes) = effect.contents
        try backing { () throws(Errno) in
            for hole in holes.ranges {
                let range = File.backingRange(hole)
                // All of the file may be in the journal, and nothing in the backing file.
                if range.upperBound > before.size { try vault.store.truncate(file, to: range.upperBound) }
                try vault.store.punch(file, range)
            }
        }
        for (number, block) in blocks.sorted(by: { $0.key < $1.key }) {
            let stored = try contents(of: block)
            try backing { () throws(Errno) in
                try unsafe vault.store.write(
                    stored.span.bytes, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: number)))
            }
        }
        let old = try Self.read(FileHeader.byteCount, at: 0, of: file, vault)
        let hasLostSummary = try vault.dropSummary(
            of: file, ifLongerThan: max(effect.header.length, effect.header.provisionalLength))
        // Until the new header is durable, a crash may need them. What is unknown stays.
        let hasPending = (try? vault.hasPending(file)) ?? true
        try backing { () throws(Errno) in
            try vault.store.synchronize(file, dataOnly: !hasLostSummary)
            // Stamped only now: the journal cannot know which times a copy has seen here since.
            let copied = try vault.store.status(of: file)
            var header = effect.header
            header.stamp = FileHeader.stamp(
                after: [before.modified.seconds, copied.modified.seconds, header.stamp], now: Timespec.now.seconds)
            header.written = FileTime(.tick)
            do throws(Errno) {
                try unsafe vault.store.write(header.signed(vault.keys).span.bytes, to: file, at: 0)
                try vault.store.setTimes(
                    accessed: .keep, modified: .at(Timespec(seconds: header.stamp, nanoseconds: 0)), of: file)
                if copied.linkCount == 1, !hasPending { vault.summarize(header, of: file) }
                // After this the journal starts anew, so the header must be durable. So must its time: a copier would
                // take a header without its stamp for the one before.
                try vault.store.synchronize(file, dataOnly: false)
            } catch {
                // What is on disk is unknown. The next mount must not find a header here that says that all is done.
                try? unsafe vault.store.write(old.span.bytes, to: file, at: 0)
                if old.isEmpty { try? vault.store.truncate(file, to: 0) }
                throw error
            }
        }
    }

    /// Puts a tombstone back: a crash came between moving an empty directory aside and putting another one in its
    /// place.
    private func putBack(_ names: TombstoneNames) throws(VaultError) {
        guard let folder = try vault.openFolderForReplay(names.folder) else { return }
        do throws(VaultError) {
            try vault.withOwnerPermissions(0o300, of: .file(folder)) { () throws(VaultError) in
                try vault.renameFresh(names.tombstone, to: names.name, in: folder)
            }
        } catch {
            guard error.isAbsence || error == .system(.EEXIST) || error == .system(.ENOTEMPTY) else { throw error }
            return
        }
        try backing { () throws(Errno) in try vault.store.synchronize(folder, dataOnly: false) }
    }
}

extension RecoveryJournal.Entry {
    /// The stored blocks of the record, from `record.number` on; none if they are not blocks that a file can have.
    fileprivate var blocks: [RecoveryJournal.StoredBlock] {
        let size = Int(BlockGeometry.storedBlockSize)
        let count = record.kind == .blocks ? record.generation : 1
        guard record.kind == .block || record.kind == .blocks, 1...UInt64(JournalRecord.mostBlocks) ~= count,
            record.number < Self.mostBlocks, count <= Self.mostBlocks - record.number
        else { return [] }
        let last = record.payloadCount - (Int(count) - 1) * size
        guard BlockGeometry.storedSizes.contains(last) else { return [] }
        return (0..<Int(count)).map { index in
            RecoveryJournal.StoredBlock(
                offset: offset + Int64(index * size), count: index + 1 == Int(count) ? last : size)
        }
    }

    /// The blocks that become a hole; nil if the record is not one of a hole that a file can have.
    fileprivate var hole: Range<UInt64>? {
        let (first, count) = (record.number, record.generation)
        guard record.kind == .hole, record.payloadCount == 0, count > 0, first < Self.mostBlocks,
            count <= Self.mostBlocks - first
        else { return nil }
        return first..<first + count
    }

    private static let mostBlocks = BlockGeometry.blockCount(forLength: FileHeader.largestLength)
}
