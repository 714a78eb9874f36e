import Glibc

extension Descriptor {
    /// Removes all that is in this directory, however deep it lies: with a few descriptors and without recursion.
    ///
    /// A folder in a folder is moved up into this directory first, under a name that nothing has, so that no more than two
    /// are open at a time. What cannot be removed ends it and stays, then perhaps under such a name. Nothing of another file
    /// system that is mounted below is touched: EXDEV. Folders that their owner has closed to himself are opened.
    ///
    /// - Parameter prefix: what names begin with that a folder has while it waits for its turn.
    public func removeContents(movingUpAs prefix: String = ".removed.") throws(Errno) {
        let device = try status().device
        while true {
            let entries = try self.entries()
            if entries.isEmpty { return }
            for entry in entries {
                if try isFolder(entry) {
                    try removeFolder(entry.name, device, prefix)
                } else {
                    try unlink(entry.name)
                }
            }
        }
    }

    private func isFolder(_ entry: DirectoryEntry) throws(Errno) -> Bool {
        if let kind = entry.kind { return kind == .directory }
        return try status(of: entry.name).kind == .directory
    }

    private func removeFolder(_ name: Name, _ device: UInt64, _ prefix: String) throws(Errno) {
        let folder: Descriptor
        do throws(Errno) { folder = try open(name, O_RDONLY | O_DIRECTORY) } catch .EACCES {
            try setMode(0o700, of: name)
            folder = try open(name, O_RDONLY | O_DIRECTORY)
        }
        let status = try folder.status()
        guard status.device == device else { throw .EXDEV }
        // To be moved, a folder has to be writable itself; that of root's is, whatever its mode.
        if status.permissions & 0o700 != 0o700, geteuid() == status.owner { try folder.setMode(0o700) }
        for entry in try folder.entries() {
            if try folder.isFolder(entry) {
                try moveUp(entry.name, from: folder, prefix)
            } else {
                try folder.unlink(entry.name)
            }
        }
        try removeDirectory(name)
    }

    private func moveUp(_ name: Name, from folder: Descriptor, _ prefix: String) throws(Errno) {
        if geteuid() != 0 { try? folder.setMode(0o700, of: name) }
        while true {
            let free = Name(stringLiteral: prefix + String(UInt64.random(in: 0 ... .max), radix: 36))
            do throws(Errno) {
                return try folder.rename(name, to: free, in: self, flags: RENAME_NOREPLACE)
            } catch .EEXIST {
                continue
            } catch .EINVAL {
                // The file system does not know the flag. Nothing else has such a name.
                return try folder.rename(name, to: free, in: self)
            }
        }
    }
}
