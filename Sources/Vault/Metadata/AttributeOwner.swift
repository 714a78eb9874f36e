import Format
import Posix
import Store

/// What has an extended attribute.
public enum AttributeOwner: Sendable {
    case file(File)
    case directory(Directory)
    /// A FIFO, socket, device node or symbolic link: the descriptor is `openNode`'s.
    case node(Descriptor)

    var descriptor: Descriptor {
        switch self {
        case .file(let file): file.descriptor
        case .directory(let directory): directory.descriptor
        case .node(let node): node
        }
    }

    package var subject: AttributeSubject {
        switch self {
        case .file(let file):
            AttributeSubject(descriptor: file.descriptor, identifier: file.identifier.bytes, file: file)
        case .directory(let directory):
            AttributeSubject(descriptor: directory.descriptor, identifier: directory.identifier.bytes)
        case .node(let node): AttributeSubject(node: node)
        }
    }
}

/// A backing file, folder or node, and the ID to which its attributes are bound.
package struct AttributeSubject: Sendable {
    package let descriptor: Descriptor
    let identifier: [UInt8]
    /// The ID of the file or directory; nil for a node.
    package var owner: [UInt8]? { hasSidecar ? identifier : nil }
    package let prefix: AttributeName.Prefix
    /// The open file, if there is one: it remembers a failed flush.
    let file: File?

    package init(descriptor: Descriptor, identifier: [UInt8], file: File? = nil) {
        self.descriptor = descriptor
        self.identifier = identifier
        prefix = .user
        self.file = file
    }

    /// Nodes have no ID, so an attribute copied from one node opens on another, as the target of a symbolic link does.
    package init(node: Descriptor) {
        descriptor = node
        identifier = [UInt8](repeating: 0, count: 16)
        prefix = .trusted
        file = nil
    }
}

extension Vault {
    /// Whether FIFOs, sockets, device nodes and symbolic links can have attributes: in the backing store only root can
    /// set them.
    public var hasNodeAttributes: Bool { options.isPrivileged }

    /// Opens an entry that is neither a file nor a directory, for its attributes; `ESTALE` if its inode is not the
    /// expected one.
    public func openNode(
        _ name: Name, in parent: Directory, expecting inode: UInt64? = nil
    ) throws(VaultError) -> Descriptor {
        let stored = try storedName(name, in: parent)
        return try backing { () throws(Errno) in
            let node = try store.open(stored.name, in: parent.descriptor, O_PATH, mode: 0)
            if let inode, try store.status(of: node).inode != inode { throw .ESTALE }
            return node
        }
    }
}
