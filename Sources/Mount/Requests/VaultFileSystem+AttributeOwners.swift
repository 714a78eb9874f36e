import Format
import Fuse
import Posix
import Vault

// The objects of the vault that extended attributes belong to.

extension VaultFileSystem {
    /// Lends the owner of an attribute of that name; `EOPNOTSUPP` for names that are not stored. Needs `tree` shared.
    func withOwner<Result>(
        of node: Node, for attribute: NamedAttribute, _ body: (AttributeOwner) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        switch attribute {
        case .stored: break
        case .accessList, .defaultList: guard enforcesLists else { throw .system(.EOPNOTSUPP) }
        case .nameless: throw .system(.EINVAL)
        case .protectionClass, .unknown: throw .system(.EOPNOTSUPP)
        }
        return try withOwner(of: node, body)
    }

    /// Needs `tree` shared.
    func withOwner<Result>(
        of node: Node, _ body: (AttributeOwner) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        switch node.identity {
        case .directory: return try body(.directory(try directory(of: node)))
        case .file: return try withFile(of: node) { (file) throws(VaultError) in try body(.file(file)) }
        case .other:
            guard hasAttributes(node) else { throw .system(.EOPNOTSUPP) }
            let (name, directory) = try location(of: node)
            return try body(.node(try vault.openNode(name, in: directory, expecting: node.backing.inode)))
        }
    }

    /// FIFOs and similar nodes have attributes if the vault can store them, as long as they have a name.
    func hasAttributes(_ node: Node) -> Bool {
        guard case .other = node.identity else { return true }
        return vault.hasNodeAttributes && node.state.withLock { $0.last == nil }
    }
}
