import Format
import Glibc
import Posix
import Vault

/// What is written to the vault through its own interface: once, and then again.
struct PlainTree {
    static let sizes = [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 12287, 12288, 12289]
    /// With their directories; longer names need a sidecar.
    static let longName = "long " + String(repeating: "n", count: 195)
    static let longFolder = "long " + String(repeating: "d", count: 195)
    static let manyNames = 18

    private let vault: Vault
    private let root: Directory
    private let version: Int

    init(_ vault: Vault, _ root: Directory, version: Int, _ contents: [String: [UInt8]]) {
        self.vault = vault
        self.root = root
        self.version = version
    }

    /// The lengths of a path's values, by their names: no two are of the same length.
    static func attributes(of path: String) -> [String: Int] {
        switch path.split(separator: "/").last {
        case "attributes", "folder": ["user.first": 40, "user.second": 7, "user.empty": 0]
        case "attributes too": ["user.first": 40]
        default: [:]
        }
    }

    private var ownership: Ownership { Ownership(mode: 0o644, user: getuid(), group: getgid()) }

    // MARK: Once

    func makeAll(_ contents: inout [String: [UInt8]]) throws {
        for protectionClass in TamperScene.classes {
            let letter = protectionClass.letter
            try makeFolder(letter, of: protectionClass, in: root, at: "", &contents)
            let parent = try vault.openDirectory(Name(bytes: letter.utf8)!, in: root)
            try makeFiles(in: parent, at: letter + "/", &contents)
        }
        try makeFolder("links", of: .completeUntilFirstUserAuthentication, in: root, at: "", &contents)
        let links = try vault.openDirectory("links", in: root)
        for name in ["many", "plenty"] {
            let file = try make("\(name) 0", 5000, in: links, at: "links/", &contents)
            for number in 1..<Self.manyNames {
                try link(file, "\(name) 0", "\(name) \(number)", links, "links/", &contents)
            }
        }
    }

    private func makeFiles(in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]) throws {
        for size in Self.sizes { try make("\(size)", size, in: parent, at: prefix, &contents) }
        let others = [
            ("grown", 5000), ("shrunk", 9000), ("attributes", 10), ("attributes too", 10), ("moved away", 5000),
            ("unsynced", 4096), ("never synced", 0), ("renamed", 5000), ("classed", 5000), (Self.longName, 5000),
            ("removed", 5000),
        ]
        for (name, size) in others { try make(name, size, in: parent, at: prefix, &contents) }
        try link(
            try make("linked", 5000, in: parent, at: prefix, &contents), "linked", "linked too", parent, prefix,
            &contents)
        let raised = try vault.createFile("raised", in: parent, ownership, .none)
        try fill(raised, 5000, at: prefix + "raised", &contents)
        for name in ["attributes", "attributes too"] {
            try setAttributes(
                of: .file(try vault.openFile(Name(bytes: name.utf8)!, in: parent)), at: prefix + name)
        }
        try makeFolder("folder", of: nil, in: parent, at: prefix, &contents)
        try makeFolder(Self.longFolder, of: nil, in: parent, at: prefix, &contents)
        for name in ["folder", Self.longFolder] {
            let inner = try vault.openDirectory(Name(bytes: name.utf8)!, in: parent)
            try make("inner", 5000, in: inner, at: prefix + name + "/", &contents)
            if name == "folder" { try setAttributes(of: .directory(inner), at: prefix + name) }
        }
        try makeSparse(in: parent, at: prefix, &contents)
        for name in ["link", "link too"] { try makeLink(name, in: parent, at: prefix, &contents) }
        try vault.makeNode(
            "fifo", in: parent, mode: S_IFIFO | 0o600, device: 0,
            Ownership(mode: 0o600, user: getuid(), group: getgid()))
        contents[prefix + "fifo"] = []
        try vault.synchronize()
    }

    @discardableResult private func make(
        _ name: String, _ size: Int, in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]
    ) throws -> File {
        let name = Name(bytes: name.utf8)!
        let file = try vault.createFile(name, in: parent, ownership, parent.record.defaultClass)
        try fill(file, size, at: prefix + name.description, &contents)
        return file
    }

    private func fill(_ file: File, _ size: Int, at path: String, _ contents: inout [String: [UInt8]]) throws {
        let bytes = [UInt8](of: path, version: version, count: size)
        try file.truncate(to: UInt64(size))
        if size > 0 { try unsafe file.write(bytes.span.bytes, at: 0) }
        try file.synchronize(dataOnly: false)
        contents[path] = bytes
    }

    /// Five blocks: data, data, hole, data, hole. The holes come from a large one, because small ones are not made.
    private func makeSparse(in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]) throws {
        let file = try make("sparse", 5000, in: parent, at: prefix, &contents)
        try file.truncate(to: 2 << 20)
        try file.truncate(to: 5 * 4096)
        let block = [UInt8](of: prefix + "sparse block", version: version, count: 4096)
        try unsafe file.write(block.span.bytes, at: 3 * 4096)
        try file.synchronize(dataOnly: false)
        var bytes = contents[prefix + "sparse"]!
        bytes += [UInt8](repeating: 0, count: 3 * 4096 - bytes.count) + block + [UInt8](repeating: 0, count: 4096)
        contents[prefix + "sparse"] = bytes
    }

    private func makeFolder(
        _ name: String, of protectionClass: ProtectionClass?, in parent: Directory, at prefix: String,
        _ contents: inout [String: [UInt8]]
    ) throws {
        let text = Name(bytes: name.utf8)!
        try vault.makeDirectory(text, in: parent, Ownership(mode: 0o755, user: getuid(), group: getgid()))
        contents[prefix + name] = []
        guard let protectionClass else { return }
        try vault.setDefaultClass(protectionClass, isExplicit: true, of: try vault.openDirectory(text, in: parent))
    }

    private func makeLink(
        _ name: String, in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]
    ) throws {
        let target = Array("\(prefix)target of \(name), version \(version)".utf8)
        try vault.makeSymbolicLink(to: target, Name(bytes: name.utf8)!, in: parent, user: getuid(), group: getgid())
        contents[prefix + name] = target
    }

    private func link(
        _ file: File, _ name: String, _ newName: String, _ parent: Directory, _ prefix: String,
        _ contents: inout [String: [UInt8]]
    ) throws {
        try vault.link(
            Name(bytes: name.utf8)!, in: parent, file: file, to: Name(bytes: newName.utf8)!, in: parent)
        contents[prefix + newName] = contents[prefix + name]
    }

    private func setAttributes(of owner: AttributeOwner, at path: String) throws {
        for (name, count) in Self.attributes(of: path) {
            let value = [UInt8](of: path + name, version: version, count: count)
            try vault.setAttribute(Array(name.utf8), to: value, flags: 0, of: owner)
        }
    }

    // MARK: Again

    func changeAll(_ contents: inout [String: [UInt8]]) throws {
        for letter in TamperScene.classes.map(\.letter) {
            let parent = try vault.openDirectory(Name(bytes: letter.utf8)!, in: root)
            try changeFiles(in: parent, at: letter + "/", &contents)
        }
        let links = try vault.openDirectory("links", in: root)
        for name in ["many", "plenty"] {
            try rewrite("\(name) 0", 5000, in: links, at: "links/", &contents)
            for number in 1..<Self.manyNames { contents["links/\(name) \(number)"] = contents["links/\(name) 0"] }
        }
    }

    private func changeFiles(in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]) throws {
        for size in Self.sizes { try rewrite("\(size)", size, in: parent, at: prefix, &contents) }
        let others = [
            ("grown", 9000), ("shrunk", 5000), ("attributes", 10), ("attributes too", 10), ("unsynced", 10_000),
            ("never synced", 10_000), ("renamed", 5000), ("classed", 5000), (Self.longName, 5000), ("linked", 5000),
            ("raised", 5000), ("moved away", 5000),
        ]
        for (name, size) in others { try rewrite(name, size, in: parent, at: prefix, &contents) }
        contents[prefix + "linked too"] = contents[prefix + "linked"]
        try vault.openFile("raised", in: parent).setClass(parent.record.defaultClass)
        let moved = try vault.openFile("moved away", in: parent)
        try vault.rename(
            vault.renameEnd("moved away", in: parent), .file(moved), to: vault.renameEnd("moved here", in: parent),
            replaced: nil, RenameKind())
        contents[prefix + "moved here"] = contents[prefix + "moved away"]
        try vault.unlink("removed", in: parent)
        for name in ["attributes", "attributes too"] {
            try setAttributes(
                of: .file(try vault.openFile(Name(bytes: name.utf8)!, in: parent)), at: prefix + name)
        }
        for name in ["folder", Self.longFolder] {
            let inner = try vault.openDirectory(Name(bytes: name.utf8)!, in: parent)
            try rewrite("inner", 5000, in: inner, at: prefix + name + "/", &contents)
            try vault.setDefaultClass(.complete, isExplicit: true, of: inner)
            if name == "folder" { try setAttributes(of: .directory(inner), at: prefix + name) }
        }
        for name in ["link", "link too"] {
            try vault.unlink(Name(bytes: name.utf8)!, in: parent)
            try makeLink(name, in: parent, at: prefix, &contents)
        }
        try vault.synchronize()
    }

    private func rewrite(
        _ name: String, _ size: Int, in parent: Directory, at prefix: String, _ contents: inout [String: [UInt8]]
    ) throws {
        let file = try vault.openFile(Name(bytes: name.utf8)!, in: parent)
        try fill(file, size, at: prefix + name, &contents)
    }
}
