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

extension Vault {
    /// The extended attribute of a version that was put aside: the name of the entry that it is a version of.
    public static let conflictAttribute = "user.latchkey.conflict"

    /// The conflict copies among the names of a backing folder.
    func conflictCopies(among entries: [DirectoryEntry], in directory: Directory) -> [FoundConflictCopy] {
        entries.map(\.name).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .compactMap { conflictCopy($0, in: directory) }
    }

    /// Nil unless a part of the name is that of an entry of this directory: nobody without the keys makes such a name.
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

    /// Gives each conflict copy in a directory a name of its own, such as `report (conflict of 2026-11-24).odt`, under
    /// which it is an entry like any other. One that has not arrived whole stays as it is.
    ///
    /// The caller sees to it that no other request changes names in the directory meanwhile. It takes some of them at a
    /// time: the next listing finds the others.
    ///
    /// - Returns: the new names.
    public func adoptConflictCopies(in directory: Directory) throws(VaultError) -> [Name] {
        guard !isReadOnly else { return [] }
        try directory.refuseStale()
        var adopted: [Name] = []
        let copies = conflictCopies(among: try backingEntries(of: directory.descriptor), in: directory)
        for copy in copies {
            guard adopted.count < Self.mostAtATime else { break }
            // A damaged one, or a full disk, must not keep a program from listing the others.
            if let name = try? adopt(copy, in: directory) { adopted.append(name) }
        }
        return adopted
    }

    /// Nil if the copy holds nothing that the entry does not.
    private func adopt(_ copy: FoundConflictCopy, in directory: Directory) throws(VaultError) -> Name? {
        let status = try backingStatus(of: .entry(copy.stored, in: directory.descriptor))
        if status.kind == .regular, try isSameVersion(copy, in: directory) {
            try backing { () throws(Errno) in try store.unlink(copy.stored, in: directory.descriptor) }
            return nil
        }
        let shown = try freeName(for: copy, in: directory)
        let stored = try storedName(shown, in: directory)
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
            // A label only: the version is there without it.
            try? setAttribute(
                Array(Self.conflictAttribute.utf8), to: copy.trueName.bytes, flags: 0, of: AttributeOwner.file(file))
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
        for number in 1...Self.mostNames {
            let bytes = copy.words.shownName(of: copy.trueName.bytes, number: number, longest: Vault.nameMax)
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

    /// Whether the copy has the same contents as the entry: two machines have adopted the same copy, or only metadata
    /// were changed on both.
    private func isSameVersion(_ copy: FoundConflictCopy, in directory: Directory) throws(VaultError) -> Bool {
        let entry = try storedName(copy.trueName, in: directory).name
        let binding = binding(of: copy.trueName, in: directory)
        do throws(VaultError) {
            let files = [try openBacking(entry, in: directory), try openBacking(copy.stored, in: directory)]
            let headers = try files.map { (file) throws(VaultError) in try readHeader(of: file, foundAt: binding) }
            guard headers[0].file == headers[1].file, headers[0].protection == headers[1].protection,
                headers[0].provisionalLength == headers[1].provisionalLength
            else { return false }
            return try haveSameBlocks(files[0], files[1])
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
