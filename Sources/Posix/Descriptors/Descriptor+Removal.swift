import Glibc

extension Descriptor {
    /// Removes all contents of this directory at any depth, with a few descriptors and without recursion.
    ///
    /// A nested folder is first moved up into this directory, under an unused name, so that at most two folders are
    /// open at a time. The first object that cannot be removed ends the call and stays, perhaps under such a name. A
    /// file system mounted below is not touched: EXDEV. Folders that deny access to their owner are made accessible.
    ///
    /// - Parameter prefix: the beginning of the name that a folder has after it was moved up.
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
        // To be moved, a folder must itself be writable; for root every folder is, whatever its mode.
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
                // The file system does not support the flag. No other object has such a name.
                return try folder.rename(name, to: free, in: self)
            }
        }
    }
}
