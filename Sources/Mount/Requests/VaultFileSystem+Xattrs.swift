import Format
import Fuse
import Posix
import Vault

// Extended attributes, including the class.

extension VaultFileSystem {
    func setxattr(
        _ request: Request, _ id: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        let value = value.array(0..<value.byteCount)
        answer(reply, id) { (node) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in
                keep(node)
                let attribute = NamedAttribute(name)
                if case .protectionClass = attribute {
                    guard let wanted = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self)) else {
                        throw .system(.EINVAL)
                    }
                    return try setClass(wanted, of: node, by: request, flags)
                }
                node.state.withLock { $0.hasFreshMetadata = true }
                try withOwner(of: node, for: attribute) { (owner) throws(VaultError) in
                    switch attribute {
                    case .accessList: try vault.setAccessList(value, of: owner, dropsSetGroupID: dropsSetGroupID)
                    case .defaultList: try vault.setDefaultList(value, of: owner)
                    default: try vault.setAttribute(name, to: value, flags: flags, of: owner)
                    }
                }
            }
        }
    }

    func getxattr(_ request: Request, _ id: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>) {
        let value: [UInt8]
        do throws(VaultError) {
            let node = try node(id)
            // A fast answer: the kernel asks before the first write to each file.
            if let file = node.state.withLock({ $0.file?.file }), file.isKnownToLack(name) { throw .system(.ENODATA) }
            value = try tree.withShared { () throws(VaultError) in
                let attribute = NamedAttribute(name)
                if case .protectionClass = attribute { return Array(try protection(of: node).class.name.utf8) }
                // The kernel asks for the list before it lets another user access the file.
                if attribute.isList, !hasAttributes(node) { throw .system(.ENODATA) }
                if attribute.isKept(enforcingLists: enforcesLists), lacks(name, node) { throw .system(.ENODATA) }
                return try withOwner(of: node, for: attribute) { (owner) throws(VaultError) in
                    do throws(VaultError) { return try vault.attribute(name, of: owner) } catch {
                        // The store has no attributes. On EOPNOTSUPP the kernel would refuse every use of the file to
                        // users who do not own it, root included.
                        throw error == .system(.EOPNOTSUPP) && attribute.isList ? .system(.ENODATA) : error
                    }
                }
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        reply.succeed(value)
    }

    /// Whether a closed file is known to lack an attribute: `ls -l` asks for two of each file, and few files have any.
    /// Needs `tree` shared.
    private func lacks(_ attribute: [UInt8], _ node: Node) -> Bool {
        guard case .file(let file) = node.identity, !node.isOpen,
            let (name, directory) = try? location(of: node)
        else { return false }
        let expected = (file: file, inode: node.backing.inode)
        return vault.lacksAttribute(attribute, of: name, in: directory, expecting: expected)
    }

    func listxattr(_ request: Request, _ id: NodeID, reply: consuming Reply<AttributeNames>) {
        let names: [[UInt8]]
        do throws(VaultError) {
            let node = try node(id)
            names = try tree.withShared { () throws(VaultError) in
                guard hasAttributes(node) else { return [] }
                var names = try withOwner(of: node) { (owner) throws(VaultError) in
                    try vault.attributeNames(of: owner)
                }
                // As on other file systems: xattr(7).
                if request.user != 0 { names.removeAll { $0.starts(with: NamedAttribute.trusted) } }
                if case .other = node.identity { return names }
                if try protection(of: node).isExplicit { names.append(Array(ProtectionClass.attributeName.utf8)) }
                return names
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        reply.succeed(names)
    }

    func removexattr(_ request: Request, _ id: NodeID, _ name: [UInt8], reply: consuming Reply<Done>) {
        answer(reply, id) { (node) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in
                keep(node)
                let attribute = NamedAttribute(name)
                if case .protectionClass = attribute { return try clearMark(of: node, by: request) }
                node.state.withLock { $0.hasFreshMetadata = true }
                try withOwner(of: node, for: attribute) { (owner) throws(VaultError) in
                    switch attribute {
                    case .accessList: try vault.removeAccessList(of: owner)
                    case .defaultList: try vault.removeDefaultList(of: owner)
                    default: try vault.removeAttribute(name, of: owner)
                    }
                }
            }
        }
    }

    /// The class of a file, or of new files in a directory, and whether it was set explicitly. Needs `tree` shared.
    func protection(of node: Node) throws(VaultError) -> (class: ProtectionClass, isExplicit: Bool) {
        switch node.identity {
        case .directory:
            let record = try directory(of: node).record
            return (record.defaultClass, record.isExplicit)
        case .file:
            let header = try withFile(of: node) { (file) throws(VaultError) in file.header }
            return (header.protectionClass, header.flags.contains(.explicitClass))
        case .other:
            throw .system(.ENODATA)
        }
    }

    private func setClass(
        _ wanted: ProtectionClass, of node: Node, by request: Request, _ flags: Int32
    ) throws(VaultError) {
        try checkOwner(of: node, request)
        if let reason = forbidden(wanted) {
            log(.forbidden(path: path(of: node), reason: reason))
            throw .system(.EPERM)
        }
        let isExplicit = try protection(of: node).isExplicit
        if flags == XATTR_CREATE && isExplicit { throw .system(.EEXIST) }
        if flags == XATTR_REPLACE && !isExplicit { throw .system(.ENODATA) }
        if node.isDirectory {
            let directory = try directory(of: node)
            try vault.setDefaultClass(wanted, isExplicit: true, of: directory)
            // The directory may have been closed and opened again with the old record meanwhile.
            node.state.withLock { $0.directory = directory }
            return
        }
        try withFile(of: node) { (file) throws(VaultError) in
            let old = try withGate(of: file, for: .open) { (old) throws(VaultError) in
                // A file may move into class B while B is locked: its public key suffices for that.
                guard
                    wanted == .completeUnlessOpen || gates.state(of: wanted) == .open || wanted == file.protectionClass
                else { throw .locked }
                // The node shows the stricter of both classes before the file changes, so that a concurrent eviction
                // does not miss it.
                nodes.update(node) { $0.protectionClass = min(old, wanted) }
                defer { nodes.update(node) { $0.protectionClass = file.protectionClass } }
                try file.setClass(wanted)
                return old
            }
            evictIfLocked(node, file, changedFrom: old)
        }
    }

    private func clearMark(of node: Node, by request: Request) throws(VaultError) {
        let protection = try protection(of: node)
        guard protection.isExplicit else { throw .system(.ENODATA) }
        try checkOwner(of: node, request)
        if node.isDirectory {
            let directory = try directory(of: node)
            try vault.setDefaultClass(protection.class, isExplicit: false, of: directory)
            node.state.withLock { $0.directory = directory }
        } else {
            try withFile(of: node) { (file) throws(VaultError) in try file.clearExplicitMark() }
        }
    }

    /// Only the owner of a file, or root, may change its class. Needs `tree` shared.
    private func checkOwner(of node: Node, _ request: Request) throws(VaultError) {
        guard request.user != 0 else { return }
        let owner: UInt32
        if node.isDirectory {
            owner = try vault.status(of: try directory(of: node)).owner
        } else {
            owner = try withFile(of: node) { (file) throws(VaultError) in try file.status() }.owner
        }
        guard owner == request.user else { throw .system(.EPERM) }
    }
}
