public import Failure
import Format
import Glibc
public import Posix

/// Gives a file with contents a new key: makes a copy beside it and renames that over the file.
///
/// Setting the class of a file with contents only rewraps its key. An attacker who got the key through the weaker wrap
/// could still read the file. After this, no old key opens the new contents.
public struct Rekeying {
    private static let doing: Printable = "give a new key to"

    private let file: ClassedFile
    private let isInterrupted: () -> Bool

    /// - Parameter isInterrupted: called between two pieces of the contents.
    public init(_ file: ClassedFile, isInterrupted: @escaping () -> Bool) {
        self.file = file
        self.isInterrupted = isInterrupted
    }

    /// The prefix of a copy's name, which no other program uses.
    private static let prefix = ".latchkey-rekey-"

    private static func temporaryName() -> Name {
        Name(stringLiteral: prefix + String(hexadecimal: UInt64.random(in: .min ... .max), digits: 16))
    }

    /// Whether a copy has this name, under way or orphaned.
    public static func isCopy(_ name: Name) -> Bool {
        guard name.bytes.starts(with: prefix.utf8) else { return false }
        let digits = String(decoding: name.bytes.dropFirst(prefix.utf8.count), as: UTF8.self)
        // Its digits are lower-case.
        guard let number = [UInt8](hexadecimal: digits), number.count == 8 else { return false }
        return String(hexadecimal: number) == digits
    }

    /// Removes those of `names` that are copies of a killed run. Copies that another run is making are locked, and
    /// stay.
    public static func removeOrphans(_ names: [Name], in folder: Descriptor) {
        for name in names where isCopy(name) {
            // O_NONBLOCK for a FIFO; the open also fails if the copy's class is locked.
            guard let copy = try? folder.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
                (try? copy.status().kind) == .regular, (try? copy.lockExclusively()) != nil
            else { continue }
            try? folder.unlink(name)
        }
    }

    /// Copies the file, and renames the copy over it; if that fails, the copy is removed. Returns the copy.
    ///
    /// - Throws: `severalLinks`, `changedDuringCopy`, `interrupted`, `io`; then the file keeps its key.
    ///
    /// The file's class has been set before. A rename over a file with an explicit class gives that class to the new
    /// file, so the rename changes no class here.
    public func run() throws(Failure) -> Descriptor {
        guard file.status.linkCount == 1 else { throw .severalLinks }
        do {
            let temporary = Self.temporaryName()
            let source = try file.parent.open(file.name, O_RDONLY | O_NOFOLLOW)
            let before = try source.status()
            let copy = try file.parent.open(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            do {
                // Tells `removeOrphans` that the copy is in use. No other process knows the file yet, so this does not
                // wait.
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
                // The first error is reported. If the copy cannot be removed, its name shows what it is.
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

    /// Sets the class while the copy is empty: then it gets a new key, which was never wrapped for a weaker class.
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

    /// Owner before mode, since a change of owner may clear mode bits; times last, since every change sets them.
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
