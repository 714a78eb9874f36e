import Format
import Fuse
import Posix
import Vault

// stat(2) and the calls that change its results.

extension VaultFileSystem {
    func getattr(_ request: Request, _ id: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        getattr(request, id, hasHandle: handle != nil, reply, handle == nil ? nil : parked.arrival)
    }

    private func getattr(
        _ request: Request, _ id: NodeID, hasHandle: Bool, _ reply: consuming Reply<Attributes>,
        _ arrival: ParkedRequests.Arrival?
    ) {
        do throws(VaultError) {
            let node = try node(id)
            guard node.isFile, hasHandle else {
                let moment = self.moment
                let (status, protectionClass, isSettled) = try status(of: node)
                let timeout = timeout(
                    for: protectionClass, isSettled ? status : nil, timeout(of: node, readAfter: moment))
                reply.succeed(Attributes(status: status, timeout: attributeTimeout(of: node, timeout)))
                return
            }
            // With a handle, the kernel asks for the end of the file: for lseek(2), for read(2) at the end and, on a
            // mount that freezes, for any read(2). The length counts as contents.
            let file = try openFile(of: node)
            let protectionClass = try passGate(of: file, for: .use)
            defer { gates.leave(protectionClass) }
            let status = node.shown(try file.status())
            reply.succeed(Attributes(status: status, timeout: timeout(for: protectionClass)))
        } catch {
            log(error, at: nodes[id])
            guard error == .locked, let arrival else { return reply.fail(error.errno) }
            // In lseek(2) the kernel holds the inode locked, and a program that removes the file would hold the folder
            // locked.
            let caller = Caller(thread: request.process)
            parked.park(reply, arrival, mayWait: { caller.isReading }) { [self] reply, arrival in
                getattr(request, id, hasHandle: hasHandle, reply, arrival)
            }
        }
    }

    /// The kernel sends STATX only for the birth time, and never to find the end of a file.
    func statx(_ request: Request, _ id: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>) {
        do throws(VaultError) {
            let node = try node(id)
            let (status, protectionClass, _) = try status(of: node)
            let kept = attributeTimeout(of: node, timeout(for: protectionClass))
            let attributes = Attributes(status: status, timeout: kept)
            reply.succeed(ExtendedAttributes(attributes, birthTime: try birthTime(node)))
        } catch {
            log(error, at: nodes[id])
            reply.fail(error.errno)
        }
    }

    private func birthTime(_ node: Node) throws(VaultError) -> Timespec? {
        try tree.withShared { () throws(VaultError) in
            if node.state.withLock({ $0.file == nil && $0.last != nil }) { return nil }
            switch node.identity {
            case .directory: return try vault.birthTime(.directory(try directory(of: node)))
            case .file: return try withFile(of: node) { (file) throws(VaultError) in try vault.birthTime(.file(file)) }
            case .other:
                let (name, directory) = try location(of: node)
                return try vault.birthTime(name, in: directory)
            }
        }
    }

    /// Seconds for which the kernel may keep the metadata of a settled node that was read after a moment of `watched`.
    private func timeout(of node: Node, readAfter moment: Int?) -> Double {
        let names = node.names
        if node === nodes.root { return timeout(in: node, readAfter: moment) }
        guard names.count == 1 || vault.isShared, !names.isEmpty else { return self.timeout }
        return timeout(in: names[0].parent, readAfter: moment)
    }

    /// The metadata of a node, its class if it is a file, and whether only foreign changes can change it without a
    /// request for this node.
    func status(of node: Node) throws(VaultError) -> (FileStatus, ProtectionClass?, isSettled: Bool) {
        if let file = node.state.withLock({ $0.file?.file }) {
            return (node.shown(try file.status()), file.protectionClass, false)
        }
        return try tree.withShared { () throws(VaultError) in
            let last = node.state.withLock { $0.file == nil ? ($0.last?.status, $0.protectionClass) : (nil, nil) }
            if let status = last.0 { return (status, last.1, false) }
            switch node.identity {
            case .directory:
                let status = try vault.status(of: try directory(of: node))
                return (status, nil, shared != nil || node.state.withLock { $0.isWatched })
            case .file(let identifier):
                if let (status, found) = try? summarizedStatus(of: node, identifier) { return (status, found, true) }
                return try withFile(of: node) { (file) throws(VaultError) in
                    (try file.status(), file.protectionClass, false)
                }
            case .other:
                let (name, directory) = try location(of: node)
                let status = try vault.status(of: name, in: directory)
                return (status, nil, shared == nil && status.linkCount == 1)
            }
        }
    }

    /// The metadata of a file that is not open; nil if the file must be opened to get it. Needs `tree` shared.
    private func summarizedStatus(
        of node: Node, _ identifier: FileIdentifier
    ) throws(VaultError) -> (FileStatus, ProtectionClass?)? {
        let (name, directory) = try location(of: node)
        let expected = (file: identifier, inode: node.backing.inode)
        guard let (status, summary) = try vault.summarizedStatus(of: name, in: directory, expecting: expected) else {
            return nil
        }
        return (status, summary.protectionClass)
    }

    func setattr(
        _ request: Request, _ id: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>
    ) {
        do throws(VaultError) {
            let node = try node(id)
            node.state.withLock { $0.hasFreshMetadata = true }
            if node.isFile {
                try tree.withShared { () throws(VaultError) in
                    keep(node)
                    try withFile(of: node) { (file) throws(VaultError) in
                        try change(file, node, changes, hasHandle: handle != nil, for: request)
                    }
                }
            } else {
                try tree.withShared { () throws(VaultError) in
                    keep(node)
                    try change(node, changes)
                }
            }
            let (status, protectionClass, _) = try status(of: node)
            let kept = attributeTimeout(of: node, timeout(for: protectionClass))
            reply.succeed(Attributes(status: status, timeout: kept))
        } catch {
            log(error, at: nodes[id])
            reply.fail(error.errno)
        }
    }

    private func change(
        _ file: File, _ node: Node, _ changes: AttributeChanges, hasHandle: Bool, for request: Request
    ) throws(VaultError) {
        if let size = changes.size {
            try withGate(of: file, for: hasHandle ? .use : .open) { (_) throws(VaultError) in
                try file.dropCapabilities()
                if changes.dropsPrivileges { try dropPrivileges(of: file, node, for: request) }
                try vault.reclaimingSpace { () throws(VaultError) in try file.truncate(to: UInt64(size)) }
            }
        }
        if changes.areOfOwner {
            try file.dropCapabilities()
            // The backing file system decides by the groups of the daemon, which may be root's.
            try dropPrivileges(of: file, node, for: request, unless: request.keepsSetIDBits)
            try file.setOwner(user: changes.owner, group: changes.group)
        }
        if let mode = changes.mode { try file.setMode(mode & 0o7777) }
        if changes.accessed != .keep || changes.modified != .keep {
            try file.setTimes(accessed: changes.accessed, modified: changes.modified)
        }
    }

    /// Needs `tree` shared.
    private func change(_ node: Node, _ changes: AttributeChanges) throws(VaultError) {
        if node.isDirectory {
            let directory = try directory(of: node)
            if changes.areOfOwner {
                try vault.setOwner(user: changes.owner, group: changes.group, of: directory)
            }
            if let mode = changes.mode { try vault.setMode(mode & 0o7777, of: directory) }
            if changes.accessed != .keep || changes.modified != .keep {
                try vault.setTimes(accessed: changes.accessed, modified: changes.modified, of: directory)
            }
            return
        }
        let isGone = node.state.withLock { state in
            state.last?.status.apply(changes)
            return state.last != nil
        }
        if isGone { return }
        let (name, directory) = try location(of: node)
        if changes.areOfOwner {
            try vault.setOwner(user: changes.owner, group: changes.group, of: name, in: directory)
        }
        if let mode = changes.mode { try vault.setMode(mode & 0o7777, of: name, in: directory) }
        if changes.accessed != .keep || changes.modified != .keep {
            try vault.setTimes(accessed: changes.accessed, modified: changes.modified, of: name, in: directory)
        }
    }

    func statfs(_ request: Request, _ id: NodeID, reply: consuming Reply<FileSystemStatistics>) {
        do throws(VaultError) {
            var statistics = try vault.statistics()
            statistics.maximumNameLength = UInt64(Vault.nameMax)
            reply.succeed(statistics)
        } catch { reply.fail(error.errno) }
    }
}

extension FileStatus {
    /// Applies the changes to the status of an object that no longer has a name.
    fileprivate mutating func apply(_ changes: AttributeChanges) {
        func time(_ change: TimeChange, _ before: Timespec) -> Timespec {
            switch change {
            case .keep: before
            case .now: .now
            case .at(let time): time
            }
        }
        owner = changes.owner ?? owner
        group = changes.group ?? group
        if let mode = changes.mode { self.mode = self.mode & ~0o7777 | mode & 0o7777 }
        accessed = time(changes.accessed, accessed)
        modified = time(changes.modified, modified)
        changed = .now
    }
}

extension AttributeChanges {
    /// Whether this is chown(2). A chown of neither user nor group arrives without changes, and clears the set-ID bits
    /// too.
    fileprivate var areOfOwner: Bool {
        owner != nil || group != nil || (mode == nil && size == nil && accessed == .keep && modified == .keep)
    }
}
