import Fuse
import Glibc
import Posix

extension Passthrough {
    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Entry>) {
        answer(reply, .lookup) { () throws(Errno) in try entry(name, in: file(parent)) }
    }

    func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Entry>
    ) {
        answer(reply) { () throws(Errno) in
            let directory = try file(parent)
            try directory.makeNode(name, mode: mode, device: device)
            return try own(name, in: directory, request)
        }
    }

    func mkdir(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Entry>
    ) {
        answer(reply, .mkdir) { () throws(Errno) in
            let directory = try file(parent)
            try directory.makeDirectory(name, mode: mode)
            return try own(name, in: directory, request)
        }
    }

    func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Entry>
    ) {
        answer(reply, .symlink) { () throws(Errno) in
            let directory = try file(parent)
            if lacks.contains(.links) { throw .EPERM }
            try directory.makeSymbolicLink(to: target, name)
            // The inode may have been that of another link.
            let key = Node.Key(try directory.status(of: name))
            staleTargets.withLock { $0[key] = nil }
            return try own(name, in: directory, request)
        }
    }

    /// Gives a new inode to the user of the request. In a directory with the set-group-ID bit the group stays.
    private func own(_ name: Name, in directory: Descriptor, _ request: Request) throws(Errno) -> Entry {
        try setOwner(request, of: name, in: directory)
        return try entry(name, in: directory)
    }

    func setOwner(_ request: Request, of name: Name, in directory: Descriptor) throws(Errno) {
        guard geteuid() == 0, request.user != 0 || request.group != 0 else { return }
        let group = try directory.status().mode & S_ISGID == 0 ? request.group : nil
        // chown(2) takes set-ID bits away, which the creator may have asked for.
        let mode = try directory.status(of: name).mode
        try directory.setOwner(user: request.user, group: group, of: name)
        if mode & (S_ISUID | S_ISGID) != 0, mode & S_IFMT != S_IFLNK {
            try directory.setMode(mode & 0o7777, of: name)
        }
    }

    func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        answer(reply, .unlink) { () throws(Errno) in try file(parent).unlink(name) }
    }

    func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        answer(reply, .rmdir) { () throws(Errno) in try file(parent).removeDirectory(name) }
    }

    func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>
    ) {
        answer(reply, .rename) { () throws(Errno) in
            let flags = lacks.contains(.replacement) ? flags | RENAME_NOREPLACE : flags
            let (folder, newFolder) = (try file(parent), try file(newParent))
            if lacks.contains(.openRename), try isOpen(folder.status(of: name)) { throw .EBUSY }
            if lacks.contains(.freshLinks) { keepTarget(of: newName, in: newFolder, for: try folder.status(of: name)) }
            try folder.rename(name, to: newName, in: newFolder, flags: flags)
        }
    }

    private func stale(_ link: Descriptor) throws(Errno) -> [UInt8]? {
        guard lacks.contains(.freshLinks) else { return nil }
        let key = Node.Key(try link.status())
        return staleTargets.withLock { $0[key] }
    }

    private func isOpen(_ status: FileStatus) -> Bool {
        files.all.contains { (try? $0.status().inode) == status.inode }
    }

    /// What a link shows that is about to replace another one.
    private func keepTarget(of name: Name, in folder: Descriptor, for replacement: FileStatus) {
        guard let old = try? folder.status(of: name), let target = try? folder.readSymbolicLink(name) else { return }
        staleTargets.withLock { targets in
            targets[Node.Key(replacement)] = targets[Node.Key(old)] ?? target
        }
    }

    func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Entry>
    ) {
        answer(reply) { () throws(Errno) in
            if lacks.contains(.links) { throw .EPERM }
            let file = try file(node)
            let directory = try self.file(newParent)
            // By way of /proc, because AT_EMPTY_PATH takes CAP_DAC_READ_SEARCH.
            let result = unsafe newName.withCString { newName in
                unsafe linkat(
                    AT_FDCWD, "/proc/self/fd/\(file.number)", directory.number, newName, AT_SYMLINK_FOLLOW)
            }
            if result != 0 { throw .current }
            return try entry(newName, in: directory)
        }
    }

    func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>) {
        do throws(Errno) {
            let file = try faults.answering(.readlink) { () throws(Errno) in try self.file(node) }
            if let stale = try stale(file) {
                reply.succeed(stale)
                return
            }
            var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe target.withUnsafeMutableBytes { target in
                // An empty path names the link that the descriptor was opened for.
                unsafe readlinkat(
                    file.number, "", target.baseAddress!.assumingMemoryBound(to: CChar.self), target.count)
            }
            if count < 0 { throw .current }
            reply.succeed(Array(target[..<count]))
        } catch {
            reply.fail(error)
        }
    }
}
