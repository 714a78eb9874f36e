internal import Format
internal import Glibc
internal import Posix

/// A new file that has its class and no contents yet, under a random name beside its target.
///
/// It is created in the folder itself. If no file can be created there now because of the folder's class, it is created
/// in a new subfolder of class `none`. In both cases the requested class is set before the first byte, and with it an
/// empty file gets a new key: no other class ever wraps the key of the contents.
struct StagedFile {
    /// The prefix of the names; a crash leaves at most one such file or folder.
    static let prefix = ".latchkey-"

    let file: Descriptor
    /// The folder that contains it now.
    let folder: Descriptor
    let name: Name
    /// Set if that is a temporary subfolder of `parent`.
    private let shelter: (parent: Descriptor, name: Name)?

    /// Throws ENOKEY if the class cannot be written now, and leaves nothing behind.
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
                // The first error is the one to report; an empty folder that cannot be removed is recognisable by its
                // name.
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

    /// Moves the file to its name, and removes the file that has it.
    ///
    /// A plain rename would take over the class of the replaced file. If two files exchange their names, each keeps its
    /// class. If this throws, nothing has changed, and the caller still has to discard the staged file.
    func replace(_ target: Name, in destination: Descriptor) throws(Errno) {
        while true {
            do throws(Errno) {
                return try folder.rename(name, to: target, in: destination, flags: RENAME_NOREPLACE)
            } catch .EEXIST {}
            do throws(Errno) {
                try folder.rename(name, to: target, in: destination, flags: RENAME_EXCHANGE)
            } catch .ENOENT {
                // The target has been removed meanwhile: the plain rename works now.
                continue
            } catch .EINVAL {
                // The vault's file system cannot exchange names, as network file systems.
                return try replaceUnmarked(target, in: destination)
            }
            do throws(Errno) {
                return try folder.unlink(name)
            } catch {
                // A folder, or a file that this user may not remove: exchange the names back.
                try folder.rename(name, to: target, in: destination, flags: RENAME_EXCHANGE)
                throw error
            }
        }
    }

    /// A class that was set on the renamed file, as this one's was, wins over a class without a mark. Clearing the mark
    /// does not change the class.
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

    /// Removes the temporary subfolder, if there was one, after the file has left it.
    func removeShelter() throws(Errno) {
        if let shelter { try shelter.parent.removeDirectory(shelter.name) }
    }

    /// Removes the file as far as possible: the caller already has an error to report.
    func discard() {
        try? folder.unlink(name)
        try? removeShelter()
    }
}
