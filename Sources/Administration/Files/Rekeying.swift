public import Failure
import Format
import Glibc
public import Posix

/// Gives a file with contents a new key: a copy beside it, renamed over it.
///
/// A class set on a file with contents wraps the key that it has; whoever got at the weaker wrap of that key before
/// could still read the file. After this no old key opens the new contents.
public struct Rekeying {
    private static let doing = "give a new key to"

    private let file: ClassedFile
    private let isInterrupted: () -> Bool

    /// - Parameter isInterrupted: asked between two pieces of the contents.
    public init(_ file: ClassedFile, isInterrupted: @escaping () -> Bool) {
        self.file = file
        self.isInterrupted = isInterrupted
    }

    /// What copies are called: names that nobody else gives.
    private static let prefix = ".latchkey-rekey-"

    private static func temporaryName() -> Name {
        Name(stringLiteral: prefix + String(hexadecimal: UInt64.random(in: .min ... .max), digits: 16))
    }

    /// Whether it is the name of a copy that is being made, or was left.
    public static func isCopy(_ name: Name) -> Bool {
        guard name.bytes.starts(with: prefix.utf8) else { return false }
        let digits = String(decoding: name.bytes.dropFirst(prefix.utf8.count), as: UTF8.self)
        // Its digits are lower-case.
        guard let number = [UInt8](hexadecimal: digits), number.count == 8 else { return false }
        return String(hexadecimal: number) == digits
    }

    /// Removes the copies among these that a killed run has left in a folder; not those at which somebody is at work.
    public static func removeOrphans(_ names: [Name], in folder: Descriptor) {
        for name in names where isCopy(name) {
            // Its class may be locked, or it a FIFO.
            guard let copy = try? folder.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
                (try? copy.status().kind) == .regular, (try? copy.lockExclusively()) != nil
            else { continue }
            try? folder.unlink(name)
        }
    }

    /// Copies, and renames the copy over the file; nothing is left behind when that fails. Returns the copy.
    ///
    /// - Throws: `severalLinks`, `changedDuringCopy`, `interrupted`, `io`; the file keeps its key then.
    ///
    /// The file's class has been set already, so that the rename, which hands an explicit class on, changes nothing.
    public func run() throws(Failure) -> Descriptor {
        guard file.status.linkCount == 1 else { throw .severalLinks }
        do {
            let temporary = Self.temporaryName()
            let source = try file.parent.open(file.name, O_RDONLY | O_NOFOLLOW)
            let before = try source.status()
            let copy = try file.parent.open(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            do {
                // For `removeOrphans`. Nobody else knows the file yet.
                try copy.lockExclusively()
                try setClass(of: copy)
                try copyContents(from: source, status: before, to: copy)
                try copyMetadata(from: source, status: before, to: copy)
                try copy.synchronize(dataOnly: false)
                let after = try file.parent.status(of: file.name)
                guard after.inode == before.inode, after.changed == before.changed, after.size == before.size,
                    after.modified == before.modified
                else { throw Failure.changedDuringCopy }
                try file.parent.rename(temporary, to: file.name, in: file.parent)
            } catch {
                // The first error is the one to report; a copy that cannot go is seen by its name.
                try? file.parent.unlink(temporary)
                throw error
            }
            let folder = try file.parent.open(.current, O_RDONLY | O_DIRECTORY)
            try folder.synchronize(dataOnly: false)
            return copy
        } catch let error as Failure {
            throw error
        } catch let error as Errno {
            throw .io(error, doing: Self.doing)
        } catch {
            throw .io(.EIO, doing: Self.doing)
        }
    }

    /// While the copy is empty: a class set then comes with a new key, which no weaker class has wrapped.
    private func setClass(of copy: Descriptor) throws(Errno) {
        let value = try file.protectionClass().name
        try copy.setAttribute(ProtectionClass.attributeName, to: Array(value.utf8))
    }

    private func copyContents(from source: Descriptor, status: FileStatus, to copy: Descriptor) throws {
        let isSparse = status.blocks * 512 < status.size
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let count = try source.read(into: &buffer, at: offset)
            if count == 0 { break }
            if isInterrupted() { throw Failure.interrupted }
            let chunk = unsafe buffer.span.bytes.extracting(0..<count)
            if !isSparse || !chunk.isZero(0..<count) { try copy.write(chunk, at: offset) }
            offset += Int64(count)
        }
        if isSparse { try copy.truncate(to: offset) }
    }

    /// Owner before mode, which a change of owner may cut; times last, which everything changes.
    private func copyMetadata(from source: Descriptor, status: FileStatus, to copy: Descriptor) throws(Errno) {
        for name in try source.attributeNames() where name != ProtectionClass.attributeName {
            try copy.setAttribute(name, to: source.attribute(name))
        }
        let fresh = try copy.status()
        if fresh.owner != status.owner || fresh.group != status.group {
            try copy.setOwner(user: status.owner, group: status.group)
        }
        try copy.setMode(status.permissions)
        try copy.setTimes(accessed: .at(status.accessed), modified: .at(status.modified))
    }
}
