import Format
import Fuse
import Posix
import Vault

// Extended attributes, and the class among them.

extension VaultFileSystem {
    func setxattr(
        _ request: Request, _ id: NodeID, _ name: String, value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        let value = value.array(0..<value.byteCount)
        answer(reply, id) { (node) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in
                if name == ProtectionClass.attributeName {
                    guard let wanted = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self)) else {
                        throw .system(.EINVAL)
                    }
                    try setClass(wanted, of: node, by: request, flags)
                } else {
                    node.state.withLock { $0.hasFreshMetadata = true }
                    try withOwner(of: node, of: name) { (owner) throws(VaultError) in
                        switch name {
                        case AccessControlList.accessAttribute:
                            try vault.setAccessList(value, of: owner, dropsSetGroupID: dropsSetGroupID)
                        case AccessControlList.defaultAttribute: try vault.setDefaultList(value, of: owner)
                        default: try vault.setAttribute(Array(name.utf8), to: value, flags: flags, of: owner)
                        }
                    }
                }
            }
        }
    }

    func getxattr(_ request: Request, _ id: NodeID, _ name: String, reply: consuming Reply<AttributeValue>) {
        let value: [UInt8]
        do throws(VaultError) {
            let node = try node(id)
            value = try tree.withShared { () throws(VaultError) in
                if name == ProtectionClass.attributeName {
                    return Array(try protection(of: node).class.name.utf8)
                }
                // The kernel asks for it before it lets somebody else use the file.
                if case .other = node.identity, AccessControlList.attributes.contains(name) { throw .system(.ENODATA) }
                return try withOwner(of: node, of: name) { (owner) throws(VaultError) in
                    try vault.attribute(Array(name.utf8), of: owner)
                }
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        reply.succeed(value)
    }

    func listxattr(_ request: Request, _ id: NodeID, reply: consuming Reply<AttributeNames>) {
        let names: [String]
        do throws(VaultError) {
            let node = try node(id)
            names = try tree.withShared { () throws(VaultError) in
                if case .other = node.identity { return [] }
                var names = try withOwner(of: node) { (owner) throws(VaultError) in
                    try vault.attributeNames(of: owner)
                }.map { String(decoding: $0, as: UTF8.self) }
                // As on other file systems: xattr(7).
                if request.user != 0 { names.removeAll { $0.hasPrefix("trusted.") } }
                if try protection(of: node).isExplicit { names.append(ProtectionClass.attributeName) }
                return names
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        reply.succeed(names)
    }

    func removexattr(_ request: Request, _ id: NodeID, _ name: String, reply: consuming Reply<Done>) {
        answer(reply, id) { (node) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in
                if name == ProtectionClass.attributeName {
                    try clearMark(of: node, by: request)
                } else {
                    node.state.withLock { $0.hasFreshMetadata = true }
                    try withOwner(of: node, of: name) { (owner) throws(VaultError) in
                        switch name {
                        case AccessControlList.accessAttribute: try vault.removeAccessList(of: owner)
                        case AccessControlList.defaultAttribute: try vault.removeDefaultList(of: owner)
                        default: try vault.removeAttribute(Array(name.utf8), of: owner)
                        }
                    }
                }
            }
        }
    }

    /// The class of a file, or of what is created in a directory, and whether it was set there. Needs `tree` shared.
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
        let isExplicit = try protection(of: node).isExplicit
        if flags == XATTR_CREATE && isExplicit { throw .system(.EEXIST) }
        if flags == XATTR_REPLACE && !isExplicit { throw .system(.ENODATA) }
        if node.isDirectory {
            let directory = try directory(of: node)
            try vault.setDefaultClass(wanted, isExplicit: true, of: directory)
            // It may have been let go and opened anew, with the old record, while this was under way.
            node.state.withLock { $0.directory = directory }
            return
        }
        try withFile(of: node) { (file) throws(VaultError) in
            let old = try withGate(of: file, for: .open) { (old) throws(VaultError) in
                // Into class B a file may go while that is locked: for that its public key is enough.
                guard
                    wanted == .completeUnlessOpen || gates.state(of: wanted) == .open || wanted == file.protectionClass
                else { throw .locked }
                try file.setClass(wanted)
                return old
            }
            node.state.withLock { $0.protectionClass = wanted }
            settle(node, file, changedFrom: old)
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

    /// Only the owner of a file, or root, decides on its class. Needs `tree` shared.
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

    /// Lends what an attribute of that name hangs on; `EOPNOTSUPP` for names that are not stored.
    private func withOwner<Result>(
        of node: Node, of name: String, _ body: (AttributeOwner) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        let isStored =
            AccessControlList.attributes.contains(name)
            ? enforcesLists
            : ["user.", "trusted.", "security."].contains { name.hasPrefix($0) } && !name.hasPrefix("user.latchkey.")
        guard isStored else { throw .system(.EOPNOTSUPP) }
        return try withOwner(of: node, body)
    }

    private func withOwner<Result>(
        of node: Node, _ body: (AttributeOwner) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        switch node.identity {
        case .directory: try body(.directory(try directory(of: node)))
        case .file: try withFile(of: node) { (file) throws(VaultError) in try body(.file(file)) }
        case .other: throw .system(.EOPNOTSUPP)
        }
    }
}
