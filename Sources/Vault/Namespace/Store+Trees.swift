import Glibc
import Posix
import Store

extension Store {
    /// Removes a folder and everything in it, however deep: another program may have made it.
    ///
    /// Works without recursion and with two open folders: it moves inner folders up to the outermost. What a crash
    /// leaves is an orphan as before, in another shape.
    ///
    /// - Parameter sparing: the files of the folder itself that stay. Then the call fails with ENOTEMPTY.
    package func unlinkTree(
        _ name: Name, in parent: Descriptor, sparing: (Name) -> Bool = { _ in false }
    ) throws(Errno) {
        do {
            let top = try open(name, in: parent, O_RDONLY | O_DIRECTORY, mode: 0)
            var hasMoved = true
            while hasMoved {
                hasMoved = false
                for entry in try entries(of: top) where !sparing(entry.name) {
                    if entry.kind != .directory {
                        try unlink(entry.name, in: top)
                    } else if try flatten(entry.name, into: top) {
                        hasMoved = true
                    }
                }
            }
        }
        try removeDirectory(name, in: parent)
    }

    /// Removes a folder in `top`, after it has moved folders that are not empty to `top`. Returns whether there were
    /// any.
    private func flatten(_ name: Name, into top: Descriptor) throws(Errno) -> Bool {
        var hasMoved = false
        do {
            let folder = try open(name, in: top, O_RDONLY | O_DIRECTORY, mode: 0)
            for entry in try entries(of: folder) {
                if entry.kind != .directory {
                    try unlink(entry.name, in: folder)
                } else if try !removeIfEmpty(entry.name, in: folder) {
                    try rename(entry.name, in: folder, to: .temporary(), in: top, flags: 0)
                    hasMoved = true
                }
            }
        }
        try removeDirectory(name, in: top)
        return hasMoved
    }

    /// Removes a folder if it is empty. Unlike a move of the folder, that does not need write permission in it.
    private func removeIfEmpty(_ name: Name, in folder: Descriptor) throws(Errno) -> Bool {
        do throws(Errno) {
            try removeDirectory(name, in: folder)
            return true
        } catch {
            guard error == .ENOTEMPTY || error == .EEXIST else { throw error }
            return false
        }
    }
}
