import Glibc
import Posix
import Store

/// The whole contents of a store, for a comparison.
struct Tree: Equatable {
    struct Item: Equatable {
        var kind: FileKind?
        var permissions: UInt32
        var owner: UInt32
        var contents: [UInt8] = []
        var attributes: [String: [UInt8]] = [:]
        /// The first path of the same inode.
        var first: String
    }

    var items: [String: Item] = [:]

    init(of store: any Store) throws {
        var paths: [UInt64: String] = [:]
        try add(store.root, "", of: store, paths: &paths)
    }

    private mutating func add(
        _ directory: Descriptor, _ prefix: String, of store: any Store, paths: inout [UInt64: String]
    ) throws {
        for name in try store.entries(of: directory).map(\.name).sorted(by: { $0.description < $1.description }) {
            let path = prefix + name.description
            let status = try store.status(of: name, in: directory)
            let first = paths[status.inode] ?? path
            paths[status.inode] = first
            var item = Item(kind: status.kind, permissions: status.permissions, owner: status.owner, first: first)
            switch status.kind {
            case .symbolicLink: item.contents = try store.readSymbolicLink(name, in: directory)
            case .regular, .directory:
                let file = try store.open(name, in: directory, O_RDONLY)
                for attribute in try store.attributeNames(of: file) {
                    item.attributes[attribute] = try store.attribute(attribute, of: file)
                }
                if status.kind == .regular {
                    item.contents = try store.bytes(of: file)
                } else {
                    try add(file, path + "/", of: store, paths: &paths)
                }
            default: break
            }
            items[path] = item
        }
    }
}
