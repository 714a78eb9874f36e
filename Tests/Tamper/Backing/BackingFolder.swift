import Glibc
public import Posix
import TestSupport

/// A folder in memory that holds one image after the other: only the differences are written.
public final class BackingFolder {
    private let folder: TemporaryFolder
    private let root: Descriptor
    /// The image in the folder, unless another program writes to it.
    private var held = BackingImage()

    /// - Parameter parent: nil for a folder in memory.
    public init(in parent: String? = nil) throws {
        folder = try TemporaryFolder(in: parent ?? Environment.memory, mode: 0o700)
        root = try folder.descriptor()
    }

    public var path: String { folder.path }

    /// The folder's present contents, whichever program wrote them.
    public func image() throws(Errno) -> BackingImage {
        var image = BackingImage()
        var known: [UInt64: String] = [:]
        try Self.read(root, at: "", into: &image, &known)
        return image
    }

    /// Replaces the folder's contents with an image.
    ///
    /// - Parameter afresh: another program has written to the folder.
    public func hold(_ image: BackingImage, afresh: Bool = false) throws(Errno) {
        if afresh {
            try root.removeContents()
            held = BackingImage()
        }
        // Every image counts its new inodes from the same number: the same number may stand for another kind of inode.
        for (number, node) in held.inodes where image.inodes[number].map({ !$0.isOfKind(of: node) }) ?? false {
            held.renumber(number)
        }
        if held.names != image.names { try removeNames(goneIn: image) }
        for (number, node) in image.inodes where held.inodes[number] != nil && held.inodes[number] != node {
            guard let name = image.names.first(where: { $1 == number && held.names[$0] == number })?.key else {
                continue
            }
            try change(name, from: held.inodes[number]!, to: node)
        }
        if held.names != image.names { try addNames(newIn: image) }
        held = image
    }

    private func removeNames(goneIn image: BackingImage) throws(Errno) {
        for name in held.names.keys.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            let number = held.names[name]
            guard image.names[name] != number else { continue }
            let (folder, last) = try place(of: name)
            if case .folder? = number.flatMap({ held.inodes[$0] }) {
                try folder.removeDirectory(last)
            } else {
                try folder.unlink(last)
            }
        }
    }

    private func addNames(newIn image: BackingImage) throws(Errno) {
        // If a name of an inode has stayed, its number still stands for that inode.
        var first: [Int: String] = [:]
        for (name, number) in image.names where held.names[name] == number { first[number] = name }
        for name in image.names.keys.sorted(by: { $0.utf8.count < $1.utf8.count })
        where held.names[name] != image.names[name] {
            let number = image.names[name]!
            let (folder, last) = try place(of: name)
            if let known = first[number] {
                let (other, oldName) = try place(of: known)
                try other.link(oldName, to: last, in: folder)
                continue
            }
            first[number] = name
            try make(image.inodes[number]!, last, in: folder)
        }
    }

    private func make(_ node: BackingImage.Node, _ name: Name, in folder: Descriptor) throws(Errno) {
        switch node {
        case .file(let bytes, let attributes):
            let file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            try unsafe file.write(bytes.span.bytes, at: 0)
            for (name, value) in attributes { try file.setAttribute(name, to: value) }
        case .folder(let attributes):
            try folder.makeDirectory(name, mode: 0o700)
            guard !attributes.isEmpty else { return }
            let made = try folder.open(name, O_RDONLY | O_DIRECTORY)
            for (name, value) in attributes { try made.setAttribute(name, to: value) }
        case .link(let target): try folder.makeSymbolicLink(to: target, name)
        case .fifo: try folder.makeNode(name, mode: S_IFIFO | 0o600, device: 0)
        }
    }

    private func change(
        _ path: String, from old: BackingImage.Node, to new: BackingImage.Node
    ) throws(Errno) {
        let (folder, name) = try place(of: path)
        switch (old, new) {
        case (.file(let before, let oldAttributes), .file(let bytes, let attributes)):
            let file = try folder.open(name, O_RDWR)
            try unsafe file.write(bytes.span.bytes, at: 0)
            if bytes.count < before.count { try file.truncate(to: Int64(bytes.count)) }
            try Self.change(attributesOf: file, from: oldAttributes, to: attributes)
        case (.folder(let oldAttributes), .folder(let attributes)):
            try Self.change(
                attributesOf: try folder.open(name, O_RDONLY | O_DIRECTORY), from: oldAttributes, to: attributes)
        default:
            try folder.unlink(name)
            try make(new, name, in: folder)
        }
    }

    private static func change(
        attributesOf file: Descriptor, from old: [String: [UInt8]], to new: [String: [UInt8]]
    ) throws(Errno) {
        for name in old.keys where new[name] == nil { try file.removeAttribute(name) }
        for (name, value) in new where old[name] != value { try file.setAttribute(name, to: value) }
    }

    private func place(of path: String) throws(Errno) -> (folder: Descriptor, name: Name) {
        let parts = path.split(separator: "/")
        var folder = root
        for part in parts.dropLast() { folder = try folder.open(Name(bytes: part.utf8)!, O_RDONLY | O_DIRECTORY) }
        return (folder, Name(bytes: parts.last!.utf8)!)
    }

    // MARK: All of it

    private static func read(
        _ folder: Descriptor, at path: String, into image: inout BackingImage, _ known: inout [UInt64: String]
    ) throws(Errno) {
        for entry in try folder.entries() {
            let name = path.isEmpty ? "\(entry.name)" : "\(path)/\(entry.name)"
            let status = try folder.status(of: entry.name)
            if let first = known[status.inode] {
                image.link(first, name)
                continue
            }
            known[status.inode] = name
            switch status.kind {
            case .directory:
                let inner = try folder.open(entry.name, O_RDONLY | O_DIRECTORY)
                image.add(name, .folder(attributes: try attributes(of: inner)))
                try read(inner, at: name, into: &image, &known)
            case .regular:
                let file = try folder.open(entry.name, O_RDONLY)
                image.add(name, .file(try bytes(of: file), attributes: try attributes(of: file)))
            case .symbolicLink: image.add(name, .link(try folder.readSymbolicLink(entry.name)))
            default: image.add(name, .fifo)
            }
        }
    }

    private static func bytes(of file: Descriptor) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(try file.status().size))
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        _ = try file.read(into: &span, at: 0)
        return bytes
    }

    private static func attributes(of file: Descriptor) throws(Errno) -> [String: [UInt8]] {
        var attributes: [String: [UInt8]] = [:]
        for name in try file.attributeNames() where name.hasPrefix("user.") {
            attributes[name] = try file.attribute(name)
        }
        return attributes
    }
}
