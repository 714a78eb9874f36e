/// The contents of a vault's folder: names, and the inodes that they lead to. An attack makes one image out of another.
///
/// A value type: hundreds of thousands of images share their common parts. Modes, owners and times are left out.
public struct BackingImage: Sendable {
    public enum Node: Equatable, Sendable {
        case file([UInt8], attributes: [String: [UInt8]] = [:])
        case folder(attributes: [String: [UInt8]] = [:])
        case link([UInt8])
        case fifo

        func isOfKind(of other: Node) -> Bool {
            switch (self, other) {
            case (.file, .file), (.folder, .folder), (.link, .link), (.fifo, .fifo): true
            default: false
            }
        }
    }

    /// The number of the inode at each path from the vault's folder, which has none itself; several paths with one
    /// number are hard links. A folder comes before its contents.
    public private(set) var names: [String: Int] = [:]
    public private(set) var inodes: [Int: Node] = [:]
    private var next = 1

    public init() {}

    public subscript(path: String) -> Node? { names[path].flatMap { inodes[$0] } }

    /// The bytes of a file; empty if there is no such file.
    public func bytes(_ path: String) -> [UInt8] {
        if case .file(let bytes, _)? = self[path] { bytes } else { [] }
    }

    public func target(_ path: String) -> [UInt8] {
        if case .link(let target)? = self[path] { target } else { [] }
    }

    public func attributes(_ path: String) -> [String: [UInt8]] {
        switch self[path] {
        case .file(_, let attributes), .folder(let attributes): attributes
        default: [:]
        }
    }

    /// The names in a folder; "" is the vault's own.
    public func children(of folder: String) -> [String] {
        let prefix = folder.isEmpty ? "" : folder + "/"
        return names.keys.compactMap { path in
            guard path.hasPrefix(prefix), path.count > prefix.count else { return nil }
            let name = path.dropFirst(prefix.count)
            return name.contains("/") ? nil : String(name)
        }
    }

    /// Gives an inode another number, so that it differs from all inodes of another image.
    mutating func renumber(_ number: Int) {
        inodes[-number] = inodes.removeValue(forKey: number)
        for name in names.keys where names[name] == number { names[name] = -number }
    }

    // MARK: Changes

    public mutating func add(_ path: String, _ node: Node) {
        names[path] = next
        inodes[next] = node
        next += 1
    }

    public mutating func link(_ old: String, _ new: String) { names[new] = names[old] }

    /// In place: all names of the inode show the change.
    public mutating func edit(_ path: String, _ change: (inout [UInt8]) -> Void) {
        guard let number = names[path], case .file(var bytes, let attributes)? = inodes[number] else { return }
        // Held twice, the bytes would be copied.
        inodes[number] = .fifo
        change(&bytes)
        inodes[number] = .file(bytes, attributes: attributes)
    }

    public mutating func editAttributes(_ path: String, _ change: (inout [String: [UInt8]]) -> Void) {
        guard let number = names[path], let node = inodes[number] else { return }
        switch node {
        case .file(let bytes, var attributes):
            change(&attributes)
            inodes[number] = .file(bytes, attributes: attributes)
        case .folder(var attributes):
            change(&attributes)
            inodes[number] = .folder(attributes: attributes)
        case .link, .fifo: break
        }
    }

    /// Removes a name with everything below it, then puts something else there.
    public mutating func replace(_ path: String, by node: Node) {
        remove(path)
        add(path, node)
    }

    public mutating func remove(_ path: String) {
        for name in names.keys where name == path || name.hasPrefix(path + "/") { names[name] = nil }
    }

    /// Puts an entry of another image, with everything below it, at a path of this image.
    public mutating func take(_ source: String, of other: BackingImage, as path: String) {
        remove(path)
        var copies: [Int: Int] = [:]
        for name in other.names.keys.sorted() where name == source || name.hasPrefix(source + "/") {
            let number = other.names[name]!
            if let known = copies[number] {
                names[path + name.dropFirst(source.count)] = known
            } else {
                copies[number] = next
                add(path + name.dropFirst(source.count), other.inodes[number]!)
            }
        }
    }

    public mutating func copy(_ source: String, to path: String) { take(source, of: self, as: path) }

    public mutating func move(_ source: String, to path: String) {
        remove(path)
        for name in names.keys where name == source || name.hasPrefix(source + "/") {
            names[path + name.dropFirst(source.count)] = names[name]
            names[name] = nil
        }
    }

    public mutating func exchange(_ one: String, _ other: String) {
        let temporary = "exchanged"
        move(one, to: temporary)
        move(other, to: one)
        move(temporary, to: other)
    }
}
