import Crypto
import Format
import Posix
import Store
import Vault

// Directories without a good record. Their names are encrypted under an ID that only the record has. If the damaged
// record still gives an ID under which one of the names opens, that proves the ID, and the directory is moved with
// everything below it. Else the names are lost, and files are called by their IDs.

extension RepairWork {
    /// The class of new files in a directory whose own class cannot be proved: the strictest, so that none is weaker.
    private static let strictest = ProtectionClass.complete

    func repairFolder(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        let parent = try folder(of: spot.treePath)
        let folder = try vault.openFolder(spot.stored!, in: parent.descriptor)
        if try lostEntries(of: folder).isEmpty {
            try strip(
                ownAttributes(of: folder), from: AttributeSubject(descriptor: folder, identifier: []), finding)
            try writeNewRecord(at: vault.binding(of: spot.name!, in: parent), in: folder)
            return .done("it is empty: it has a new record; what is created in it is of class \(Self.strictest.name)")
        }
        let (target, path) = try lostAndFound.folder(for: spot.treePath)
        try note(finding, [])
        let stays = parent.identifier == target.identifier
        return try adoptFolder(
            spot.stored!, in: parent.descriptor, as: spot.name!, in: target, path, stays: stays, finding)
    }

    private func writeNewRecord(
        _ identifier: DirectoryIdentifier? = nil, at binding: NameBinding, as name: Name = .directoryRecord,
        in folder: Descriptor
    ) throws(VaultError) {
        let record = DirectoryRecord(
            directory: identifier ?? DirectoryIdentifier(Random.bytes(16)), defaultClass: Self.strictest,
            isExplicit: true, generation: vault.generationOfRebuiltRecord)
        try vault.makeWayForRecord(name, in: folder)
        try vault.writeRecord(record, at: binding, as: name, in: folder)
        try flush(folder)
    }

    /// The entries of a folder, without the vault's own files and orphans.
    private func lostEntries(of folder: Descriptor) throws(VaultError) -> [DirectoryEntry] {
        try vault.backingEntries(of: folder).filter { entry in
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry, .foreign: true
            case .reserved, .temporary, .sidecar: false
            }
        }
    }

    /// Moves a directory to lost+found, or its entries if its names are lost.
    private func adoptFolder(
        _ stored: Name, in source: Descriptor, as base: Name, in target: Directory, _ path: [UInt8], stays: Bool,
        _ finding: Finding
    ) throws(VaultError) -> RepairOutcome {
        let folder = try vault.openFolder(stored, in: source)
        guard let identifier = try provenIdentifier(of: folder) else {
            return try rescue(stored, in: source, folder, as: base, in: target, path, finding)
        }
        guard takenDirectories.insert(identifier).inserted else {
            throw .damaged("a copy of a folder that is elsewhere: if you do not need it, remove it in the vault")
        }
        let name = stays ? base : try lostAndFound.freeName(base, in: target)
        let binding = vault.binding(of: name, in: target)
        // As in any rename of a directory: it opens under both names until the end.
        try writeNewRecord(identifier, at: binding, as: .newDirectoryRecord, in: folder)
        try move(stored, in: source, to: name, in: target)
        try vault.makeWayForRecord(in: folder)
        try vault.changingRecords(in: folder) { () throws(Errno) in
            try store.rename(.newDirectoryRecord, in: folder, to: .directoryRecord, in: folder)
            try store.synchronize(folder, dataOnly: false)
        }
        hasAdoptedFolders = true
        return try done(path + [UInt8(ascii: "/")] + name.bytes, " with all that is in it")
    }

    /// The ID in a damaged record, if one of the directory's names opens under it.
    func provenIdentifier(
        of folder: Descriptor, from records: [Name] = [.directoryRecord, .newDirectoryRecord]
    ) throws(VaultError) -> DirectoryIdentifier? {
        let entries = try lostEntries(of: folder)
        for name in records {
            guard let record = vault.guessRecord(name, in: folder) else { continue }
            let directory = Directory(descriptor: folder, record: record, binding: .zero)
            if entries.contains(where: { vault.plainName(of: $0.name, in: directory) != nil }) {
                return record.directory
            }
        }
        return nil
    }

    /// Moves the entries of a directory whose names are lost, one by one, and removes the directory.
    private func rescue(
        _ stored: Name, in source: Descriptor, _ folder: Descriptor, as base: Name, in target: Directory,
        _ path: [UInt8], _ finding: Finding
    ) throws(VaultError) -> RepairOutcome {
        let (rescued, path) = try lostAndFound.folder(named: base, in: target, path)
        let left = try rescueEntries(of: folder, into: rescued, path, finding)
        guard left == 0 else {
            return .failed("its names are lost; \(left) of the entries in it could not be moved to \(path)")
        }
        try strip(
            ownAttributes(of: folder), from: AttributeSubject(descriptor: folder, identifier: []), finding)
        let temporary = Name.temporary()
        try backing { () throws(Errno) in
            try store.rename(stored, in: source, to: temporary, in: source)
            try store.synchronize(source, dataOnly: false)
        }
        // If anything stays, the next check finds it, as an orphan or as damage.
        if (try? isOrphan(temporary, in: source)) == true { try? store.unlinkTree(temporary, in: source) }
        dropSidecar(of: stored, in: source)
        return try done(path, ": its names are lost, the files in it are called by their IDs")
    }

    /// Moves entries whose names are lost. Returns how many could not be moved.
    private func rescueEntries(
        of folder: Descriptor, _ isLost: (DirectoryEntry) -> Bool = { _ in true }, into target: Directory,
        _ path: [UInt8], _ finding: Finding
    ) throws(VaultError) -> Int {
        var left = 0
        for entry in try lostEntries(of: folder) where isLost(entry) {
            guard !check.isCancelled else { return left + 1 }
            do throws(VaultError) {
                let moved = try rescue(entry.name, in: folder, into: target, path, finding)
                try lostAndFound.note(["    \(entry.name): moved to \(moved)"])
            } catch {
                guard error != .system(.ENOSPC), error != .system(.EDQUOT) else { throw error }
                left += 1
                try lostAndFound.note(["    \(entry.name): not moved: \(error)"])
            }
        }
        return left
    }

    /// Moves an entry whose name is lost. Returns where to.
    func rescue(
        _ stored: Name, in folder: Descriptor, into target: Directory, _ path: [UInt8], _ finding: Finding
    ) throws(VaultError) -> Printable {
        let path = path + [UInt8(ascii: "/")]
        if case .foreign = BackingName(stored.bytes) {
            // Foreign before and after: it is not shown in either place.
            try vault.renameFresh(stored, in: folder, to: stored, in: target.descriptor)
            return "\(path)\(stored)"
        }
        let status = try backing { () throws(Errno) in try store.status(of: stored, in: folder) }
        let start = String(decoding: stored.bytes.suffix(12), as: UTF8.self)
        let name: Name
        switch status.kind {
        case .regular:
            name = try adoptFile(stored, in: folder, as: nil, in: target, stays: false, finding).name
        case .directory:
            let outcome = try adoptFolder(
                stored, in: folder, as: Name(ascii: "folder-" + start), in: target, Array(path.dropLast()),
                stays: false, finding)
            guard case .done(let what) = outcome else { throw .damaged("\(outcome)") }
            return what
        case .symbolicLink where (try? vault.readTarget(stored, in: folder)) == nil:
            name = try keepLink(stored, in: folder, as: Name(ascii: "link-" + start), in: target)
        default:
            let kind = status.kind == .symbolicLink ? "link-" : "node-"
            name = try lostAndFound.freeName(Name(ascii: kind + start), in: target)
            try move(stored, in: folder, to: name, in: target)
        }
        return "\(path + name.bytes)"
    }

    /// Repairs an entry whose long name is lost.
    func repairName(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        let source = try folder(of: spot.treePath)
        let (target, path) = try lostAndFound.folder(for: spot.treePath)
        try note(finding, [])
        let moved = try rescue(spot.stored!, in: source.descriptor, into: target, path, finding)
        return .done("moved to \(moved)")
    }

    // MARK: The root

    /// Opens the root. If its record is damaged, repairs it and returns the finding.
    func openRoot() throws(VaultError) -> Finding? {
        do throws(VaultError) {
            root = try vault.readRoot()
            return nil
        } catch {
            guard case .damaged(let reason) = error else { throw error }
            var finding = Finding(.damage, .directory, at: Spot(treePath: .root), reason: "\(reason)")
            let strict: Printable = "; what is created in it is of class \(Self.strictest.name)"
            // The pending record is not used here: it belongs to a repair that was interrupted, and opens only the
            // names that that repair has moved.
            if let identifier = try provenIdentifier(of: store.root, from: [.directoryRecord]) {
                try writeNewRecord(identifier, at: .zero, in: store.root)
                root = try vault.readRoot()
                finding.repair = .done("its record was made anew, from what was left of it\(strict)")
            } else {
                finding.repair = try rescueRoot(finding, strict)
            }
            return finding
        }
    }

    /// Moves the root's entries to lost+found, because their names are lost. The new record is the pending one until
    /// all are moved, so a repair that was interrupted finds the ID that it used.
    private func rescueRoot(_ finding: Finding, _ strict: Printable) throws(VaultError) -> RepairOutcome {
        if (try? vault.readRecord(.newDirectoryRecord, at: .zero, in: store.root)) == nil {
            try writeNewRecord(at: .zero, as: .newDirectoryRecord, in: store.root)
        }
        let record = try vault.readRecord(.newDirectoryRecord, at: .zero, in: store.root)
        root = Directory(descriptor: store.root, record: record, binding: .zero)
        let target = try lostAndFound.directory()
        try note(finding, [])
        let left = try rescueEntries(
            of: store.root,
            { entry in
                switch BackingName(entry.name.bytes) {
                case .entry, .longEntry: self.vault.plainName(of: entry.name, in: self.root) == nil
                default: false
                }
            }, into: target, lostAndFound.treePath!.path(), finding)
        guard !check.isCancelled else { return .failed("it was interrupted") }
        guard left == 0 || ProtectionClass.allCases.allSatisfy(vault.canOpen) else {
            return .failed("its names are lost; \(left) of the entries in it take --unlock to be moved to lost+found")
        }
        // From here on, the entries that could not be moved have foreign names.
        try vault.makeWayForRecord(in: store.root)
        try vault.finishMove(of: root)
        try flush(store.root)
        let rest = left == 0 ? "" : ", but for \(left) entries"
        return .done("its names are lost: what was in it is in lost+found\(rest)\(strict)")
    }
}
