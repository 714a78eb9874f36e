internal import Format
internal import Glibc
internal import Posix

/// A new file that has its class and nothing else yet, under a name that nobody knows, beside the one that it is for.
///
/// It lies in the folder itself, or, where the folder's own class is one in which no file can be made now, in a fresh
/// folder below, whose class is `none`. Either way the class that was asked for comes before the first byte, and an empty
/// file takes a new key with it: the contents' key is never wrapped by another class.
struct StagedFile {
    /// What the names begin with; a crash leaves one such file or folder at most.
    static let prefix = ".latchkey-"

    let file: Descriptor
    /// Where it lies now.
    let folder: Descriptor
    let name: Name
    /// Set where that is a folder of its own, in this one.
    private let shelter: (parent: Descriptor, name: Name)?

    /// Throws ENOKEY when the class cannot be written now, and leaves nothing behind.
    init(in folder: Descriptor, protection: [UInt8], mode: UInt32) throws(Errno) {
        do throws(Errno) {
            try self.init(in: folder, shelter: nil, protection, mode)
        } catch .ENOKEY {
            let shelter = Self.freshName()
            try folder.makeDirectory(shelter, mode: 0o700)
            do throws(Errno) {
                let inner = try folder.open(shelter, O_PATH | O_DIRECTORY)
                try inner.setProtection(Array("none".utf8))
                try self.init(in: inner, shelter: (folder, shelter), protection, mode)
            } catch {
                // The first error is the one to report; an empty folder that cannot go is seen by its name.
                try? folder.removeDirectory(shelter)
                throw error
            }
        }
    }

    private init(
        in folder: Descriptor, shelter: (parent: Descriptor, name: Name)?, _ protection: [UInt8], _ mode: UInt32
    ) throws(Errno) {
        let name = Self.freshName()
        let file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL, mode: mode)
        do throws(Errno) {
            try file.setProtection(protection)
        } catch {
            try? folder.unlink(name)
            throw error
        }
        (self.folder, self.name, self.file, self.shelter) = (folder, name, file, shelter)
    }

    private static func freshName() -> Name {
        Name(stringLiteral: prefix + String(hexadecimal: UInt64.random(in: .min ... .max), digits: 16))
    }

    /// Puts it where it belongs, in the place of whatever is there, and removes that.
    ///
    /// A plain rename would take over the class of the file that it replaces. Where two files exchange their names, each
    /// keeps its own. When this throws, all is as it was, and the staged file still to be discarded.
    func replace(_ target: Name, in destination: Descriptor) throws(Errno) {
        while true {
            do throws(Errno) {
                return try folder.rename(name, to: target, in: destination, flags: RENAME_NOREPLACE)
            } catch .EEXIST {}
            do throws(Errno) {
                try folder.rename(name, to: target, in: destination, flags: RENAME_EXCHANGE)
            } catch .ENOENT {
                // Somebody has removed what stood there: the first way is open.
                continue
            } catch .EINVAL {
                // A vault on a file system that exchanges no names, such as a network's.
                return try replaceUnmarked(target, in: destination)
            }
            do throws(Errno) {
                return try folder.unlink(name)
            } catch {
                // A folder, or one that others may not remove: it stays where it was.
                try folder.rename(name, to: target, in: destination, flags: RENAME_EXCHANGE)
                throw error
            }
        }
    }

    /// A class that is not marked as set on a file is not taken over from it. Clearing the mark leaves the class as it is.
    private func replaceUnmarked(_ target: Name, in destination: Descriptor) throws(Errno) {
        let replaced = try destination.open(target, O_PATH)
        let isMarked = try replaced.attributeNames().contains(ProtectionClass.attributeName)
        if isMarked { try replaced.removeAttribute(ProtectionClass.attributeName) }
        do throws(Errno) {
            try folder.rename(name, to: target, in: destination)
        } catch {
            // The first error is the one to report.
            if isMarked, let value = try? replaced.protection().attributeValue() {
                try? replaced.setProtection(value)
            }
            throw error
        }
    }

    /// Removes the folder that it was made in, if it was one of its own, after the file has left it.
    func removeShelter() throws(Errno) {
        if let shelter { try shelter.parent.removeDirectory(shelter.name) }
    }

    /// Removes it, as far as that goes: whoever calls this has an error to report already.
    func discard() {
        try? folder.unlink(name)
        try? removeShelter()
    }
}
