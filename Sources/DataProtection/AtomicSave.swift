import Foundation
internal import Glibc
internal import Posix

/// An atomic write of a file with a class: staged in the same folder, made durable, and moved to its name.
struct AtomicSave {
    private let path: String
    private let folder: Descriptor
    private let name: Name

    /// Throws `notProtected` unless the folder is in a mount. A symbolic link is followed, and stays.
    init(to url: URL) throws(DataProtectionError) {
        path = try url.protectedPath
        let target = try Self.followingLinks(path)
        let slash = target.lastIndex(of: "/")
        let folderPath = slash.map { String(target[...$0]) } ?? "."
        let last = slash.map { target[target.index(after: $0)...] } ?? target[...]
        guard let name = Name(bytes: last.utf8) else {
            throw .system(errno: EISDIR, path: path)
        }
        self.name = name
        folder = try DataProtectionError.at(path) { () throws(Errno) in
            try Descriptor.open(path: folderPath, O_PATH | O_DIRECTORY)
        }
        guard try ProtectedItem(folder, path: path) != nil else { throw .notProtected(path: path) }
    }

    /// The path itself if no file exists, or if it is a dangling link, which is then replaced.
    private static func followingLinks(_ path: String) throws(DataProtectionError) -> String {
        guard let resolved = unsafe realpath(path, nil) else {
            let error = Errno.current
            if error == .ENOENT { return path }
            throw DataProtectionError(error, at: path)
        }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Returns when contents, class and name are durable. If it throws before the file has its name, nothing has
    /// changed.
    ///
    /// - Parameter mark: whether the file is to be raised to `complete` later.
    func write(_ data: Data, _ protection: FileProtectionType, mark: Bool = false) throws(DataProtectionError) {
        let value = try protection.attributeValue()
        try DataProtectionError.at(path) { () throws(Errno) in
            // Before any change: an error of this open must leave nothing behind.
            let directory = try folder.open(.current, O_RDONLY | O_DIRECTORY)
            let replaced = try replaced()
            let staged = try StagedFile(in: folder, protection: value, mode: replaced == nil ? 0o666 : 0o600)
            do throws(Errno) {
                if mark { try UpgradeMark.set(on: staged.file) }
                if let replaced { try staged.file.takeMode(of: replaced) }
                try staged.file.write(data.bytes, at: 0)
                try staged.file.synchronize(dataOnly: false)
                try staged.replace(name, in: folder)
            } catch {
                staged.discard()
                throw error
            }
            try staged.removeShelter()
            try directory.synchronize(dataOnly: false)
        }
    }

    /// The file that has the name now, if any; EISDIR for a folder.
    private func replaced() throws(Errno) -> FileStatus? {
        do throws(Errno) {
            let status = try folder.status(of: name)
            guard status.kind != .directory else { throw .EISDIR }
            return status.kind == .regular ? status : nil
        } catch .ENOENT {
            return nil
        }
    }
}

extension Descriptor {
    /// Takes over owner, group and permissions of the file that this one replaces. A user who may not change owners
    /// keeps the file, and gives no other group access to it.
    fileprivate func takeMode(of replaced: FileStatus) throws(Errno) {
        let own = try status()
        var mode = replaced.permissions & 0o777
        if own.owner != replaced.owner || own.group != replaced.group {
            do throws(Errno) {
                try setOwner(user: replaced.owner, group: replaced.group)
            } catch .EPERM {
                if own.group != replaced.group { mode &= 0o707 }
            }
        }
        try setMode(mode)
    }
}
