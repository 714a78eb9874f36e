import Format
import Posix
import Store

// What a synchronisation program has made of two versions of an entry: docs/SHARED.md, "Conflicts".

/// A version of an entry that a synchronisation program has put aside, under a name that is none of the vault's.
struct FoundConflictCopy {
    /// In the backing folder.
    let stored: Name
    /// The entry that it is a version of.
    let trueName: Name
    let words: ConflictCopy
}

/// A file under a name in a backing folder, which need not be that of its entry.
struct FoundVersion {
    let stored: Name
    let name: Name
    let directory: Directory
}

extension Vault {
    /// The extended attribute of a version that was put aside: the name of the entry that it is a version of.
    public static let conflictAttribute = "user.latchkey.conflict"

    /// The conflict copies among the names of a backing folder.
    func conflictCopies(among entries: [DirectoryEntry], in directory: Directory) -> [FoundConflictCopy] {
        entries.map(\.name).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .compactMap { conflictCopy($0, in: directory) }
    }

    /// Nil unless a part of the name is that of an entry of this directory, which only the keys can make.
    func conflictCopy(_ stored: Name, in directory: Directory) -> FoundConflictCopy? {
        guard mayBeConflictCopy(stored), plainName(of: stored, in: directory) == nil else { return nil }
        for (stem, words) in ConflictCopy.stems(of: stored.bytes) {
            guard let stem = Name(bytes: stem), let name = plainName(of: stem, in: directory) else { continue }
            return FoundConflictCopy(stored: stored, trueName: name, words: ConflictCopy(words: words))
        }
        return nil
    }

    /// The entry of which a name in a backing folder is a conflict copy; nil if it is none.
    package func original(ofConflictCopy stored: Name, in directory: Directory) -> Name? {
        conflictCopy(stored, in: directory)?.trueName
    }

    /// A name that is not an entry's, as its bytes show it, or one that may only look like an entry's.
    private func mayBeConflictCopy(_ stored: Name) -> Bool {
        switch BackingName(stored.bytes) {
        case .foreign, .entry: true
        case .reserved, .temporary, .longEntry, .sidecar: false
        }
    }

    /// Gives some of the conflict copies in a directory names of their own, such as
    /// `report (conflict of 2026-11-24).odt`, under which they are entries like any others. One that has not arrived
    /// whole stays as it is.
    ///
    /// - Returns: the new names.
    func adoptConflictCopies(among entries: [DirectoryEntry], in directory: Directory) -> [Name] {
        var adopted: [Name] = []
        for copy in conflictCopies(among: entries, in: directory) {
            guard adopted.count < Self.mostAtATime else { break }
            // A damaged one, or a full disk, must not keep a program from listing the others.
            if let name = try? adopt(copy, in: directory) { adopted.append(name) }
        }
        return adopted
    }

    /// Nil if the copy holds nothing that the entry does not.
    private func adopt(_ copy: FoundConflictCopy, in directory: Directory) throws(VaultError) -> Name? {
        let status = try backingStatus(of: .entry(copy.stored, in: directory.descriptor))
        let entry = FoundVersion(
            stored: try storedName(copy.trueName, in: directory).name, name: copy.trueName, directory: directory)
        let own = FoundVersion(stored: copy.stored, name: copy.trueName, directory: directory)
        if status.kind == .regular, try areSameVersion(entry, own) {
            try backing { () throws(Errno) in try store.unlink(copy.stored, in: directory.descriptor) }
            return nil
        }
        let shown = try freeName(for: copy, in: directory)
        let stored = try storedName(shown, in: directory)
        try keep(directory, changing: shown)
        try prepareSidecar(of: stored, in: directory)
        let (old, new) = (binding(of: copy.trueName, in: directory), binding(of: shown, in: directory))
        switch status.kind {
        case .regular:
            let file = try openFile(copy.trueName, stored: copy.stored, in: directory, isCompared: false)
            // The binding of the entry stays: a crash before the new name is durable finds the copy as it was.
            let move = try file.beginMove(
                to: new, in: directory.identifier, taking: nil, replacing: nil, isRename: false)
            do throws(VaultError) {
                try renameFresh(copy.stored, to: stored.name, in: directory)
            } catch {
                try? file.cancelMove(move)
                throw error
            }
            file.noteName(in: directory.descriptor)
            noteName(of: file, at: new)
            label(file, asVersionOf: copy.trueName)
        case .directory:
            let folder = try openFolder(copy.stored, in: directory.descriptor)
            let record = try readRecord(.directoryRecord, at: old, in: folder)
            let moved = Directory(descriptor: folder, record: record, binding: old)
            try beginMove(of: moved, to: new)
            do throws(VaultError) { try renameFresh(copy.stored, to: stored.name, in: directory) } catch {
                cancelMove(of: moved)
                throw error
            }
            didMove(moved, to: new)
            finishMove(of: moved, in: [directory.descriptor])
        default: try renameFresh(copy.stored, to: stored.name, in: directory)
        }
        return shown
    }

    private static let mostNames = 1000
    private static let mostAtATime = 256

    private func freeName(for copy: FoundConflictCopy, in directory: Directory) throws(VaultError) -> Name {
        try freeName(for: copy.trueName, copy.words, in: directory)
    }

    /// A name that no entry has, for a version that cannot have its true name.
    func freeName(for trueName: Name, _ words: ConflictCopy, in directory: Directory) throws(VaultError) -> Name {
        for number in 1...Self.mostNames {
            let bytes = words.shownName(of: trueName.bytes, number: number, longest: Vault.nameMax)
            guard let name = Name(bytes: bytes) else { continue }
            do throws(VaultError) {
                _ = try backingStatus(of: .entry(try storedName(name, in: directory).name, in: directory.descriptor))
            } catch {
                guard error == .system(.ENOENT) else { throw error }
                return name
            }
        }
        throw .system(.EEXIST)
    }

    /// Whether two files have the same contents: two machines have adopted the same copy, or only metadata were changed
    /// on both.
    func areSameVersion(_ one: FoundVersion, _ other: FoundVersion) throws(VaultError) -> Bool {
        do throws(VaultError) {
            let found = try [one, other].map { (version) throws(VaultError) in
                let file = try openBacking(version.stored, in: version.directory)
                return (file, try readHeader(of: file, foundAt: binding(of: version.name, in: version.directory)))
            }
            let headers = found.map(\.1)
            guard headers[0].file == headers[1].file, headers[0].protection == headers[1].protection,
                headers[0].provisionalLength == headers[1].provisionalLength
            else { return false }
            return try haveSameBlocks(found[0].0, found[1].0)
        } catch {
            guard error.isDamage || error == .system(.ENOENT) else { throw error }
            return false
        }
    }

    private func haveSameBlocks(_ one: Descriptor, _ other: Descriptor) throws(VaultError) -> Bool {
        try backing { () throws(Errno) in
            let sizes = (try store.status(of: one).size, try store.status(of: other).size)
            guard sizes.0 == sizes.1 else { return false }
            var offset = Int64(FileHeader.byteCount)
            var (first, second) = ([UInt8](repeating: 0, count: 1 << 18), [UInt8](repeating: 0, count: 1 << 18))
            while offset < sizes.0 {
                let count = try read(one, into: &first, at: offset)
                guard try read(other, into: &second, at: offset) == count, count > 0,
                    first[..<count] == second[..<count]
                else { return false }
                offset += Int64(count)
            }
            return true
        }
    }

    private func read(_ file: Descriptor, into bytes: inout [UInt8], at offset: Int64) throws(Errno) -> Int {
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        return try store.read(file, into: &raw, at: offset)
    }
}
