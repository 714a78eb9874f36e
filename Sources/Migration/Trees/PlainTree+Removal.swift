import Glibc
import Posix
import Store
import Vault

extension PlainTree: SourceTree {
    func isClosed(_ folder: Descriptor) throws(VaultError) -> Bool {
        guard isOwnerRestricted else { return false }
        return try status(of: folder).permissions & 0o700 != 0o700
    }

    func openUp(_ folder: Descriptor) throws(VaultError) {
        let mode = try status(of: folder).permissions
        try backing { () throws(Errno) in try store.setMode(mode | 0o700, of: folder) }
    }

    func strangers(in folder: Descriptor) -> [Name] { [] }

    func isUnchanged(_ file: PlainFile, since status: FileStatus) throws(VaultError) -> Bool {
        let now = try self.status(of: file)
        return !file.isLeaseBroken && now.changed == status.changed && now.size == status.size
            && now.modified == status.modified
    }

    /// A program that saves a file replaces it: what has the name now may be another one than was copied. So it is
    /// looked at after it was renamed, where no program finds it.
    func begin(
        removing names: [(name: Name, folder: Descriptor)], keptAs kept: [Name], _ original: PlainFile?,
        _ status: FileStatus
    ) throws(VaultError) -> Beginning<PlainTree> {
        if let original, try !isUnchanged(original, since: status) { return .changed }
        var places: [Removal<PlainTree>.Place] = []
        for ((name, folder), kept) in zip(names, kept) {
            do throws(VaultError) { try rename(name, in: folder, to: kept, in: removed) } catch {
                try putBack(places)
                switch error {
                case .system(.ENOENT): return .changed
                case .system(let errno) where [.EPERM, .EACCES, .EXDEV, .EBUSY].contains(errno): return .refused(errno)
                default: throw error
                }
            }
            places.append(Removal.Place(name: name, folder: folder, kept: kept))
            guard try self.status(of: kept, in: removed).isSameInode(as: status) else {
                try putBack(places)
                return .changed
            }
        }
        let now: FileStatus
        if let original { now = try self.status(of: original) } else { now = try self.status(of: kept[0], in: removed) }
        guard original?.isLeaseBroken != true, now.hasSameContents(as: status) else {
            try putBack(places)
            return .changed
        }
        return .taken(Removal(places: places, original: original, status: now))
    }

    /// A program that had opened the file before it was taken away may write to it only now.
    func finish(_ removals: [Removal<PlainTree>], overwriting: Bool) throws(VaultError) -> [Bool] {
        var toWipe: [Int] = []
        var isGone: [Bool] = []
        for (index, removal) in removals.enumerated() {
            guard try isAsTaken(removal) else {
                try putBack(removal.places)
                isGone.append(false)
                continue
            }
            isGone.append(true)
            let hasAllNames = removal.status.linkCount == UInt64(removal.places.count)
            if overwriting, removal.original?.hasLease == true, hasAllNames {
                toWipe.append(index)
            } else {
                for place in removal.places { try remove(place.kept, in: removed) }
            }
        }
        for index in try wipe(toWipe.map { ($0, removals[$0]) }) { isGone[index] = false }
        return isGone
    }

    func isAsTaken(_ removal: Removal<PlainTree>) throws(VaultError) -> Bool {
        guard let original = removal.original else { return true }
        return try isUnchanged(original, since: removal.status)
    }

    private func putBack(_ places: [Removal<PlainTree>.Place]) throws(VaultError) {
        for place in places { try putBack(place.kept, from: removed, as: place.name, in: place.folder) }
    }

    /// Gives an original a name again: its own, or one beside that if a program has used it.
    @discardableResult
    func putBack(
        _ kept: Name, from workspace: Descriptor, as name: Name, in folder: Descriptor
    ) throws(VaultError) -> Name {
        for candidate in name.conflictNames(orItself: true) {
            do throws(VaultError) {
                try rename(kept, in: workspace, to: candidate, in: folder)
                return candidate
            } catch { guard error == .system(.EEXIST) else { throw error } }
        }
        throw .system(.EEXIST)
    }
}

extension FileStatus {
    func isSameInode(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode && kind == other.kind
    }

    /// As far as contents and metadata can be seen without reading; renaming has moved the time of change.
    func hasSameContents(as other: FileStatus) -> Bool {
        size == other.size && modified == other.modified && mode == other.mode && owner == other.owner
            && group == other.group
    }
}

extension Name {
    /// The names that something may get whose own is taken: NAME.conflict-1 and so on.
    func conflictNames(orItself: Bool = false) -> [Name] {
        (orItself ? [self] : [])
            + (1...1000).compactMap { number in
                let suffix = Array(".conflict-\(number)".utf8)
                return Name(bytes: bytes.prefix(Name.maximumCount - suffix.count) + suffix)
            }
    }
}
