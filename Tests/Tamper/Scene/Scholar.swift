import Format
import Keybag
import Posix
import Vault

/// Learns what each object in a vault's folder is, from the code that wrote it.
struct Scholar {
    private let image: BackingImage
    private let contents: [String: [UInt8]]
    private let vault: Vault
    private let keys: VolumeKeys

    init(_ image: BackingImage, _ contents: [String: [UInt8]], _ vault: Vault, _ keys: VolumeKeys) {
        self.image = image
        self.contents = contents
        self.vault = vault
        self.keys = keys
    }

    mutating func learn(_ directory: Directory, at path: String, _ knowledge: inout Knowledge) throws {
        let stored = knowledge.backing[path] ?? ""
        knowledge.backing[path] = stored
        let record = directory.record
        let identifier = directory.identifier.bytes
        let prefix = stored.isEmpty ? "" : stored + "/"
        knowledge.records[path, default: [:]][image.target(prefix + "lk.dir")] = Knowledge.Folder(
            identifier: identifier, protection: SeenClass(record.defaultClass.rawValue, isExplicit: record.isExplicit))
        try learnAttributes(of: .directory(directory), identifier, image.attributes(stored), at: path, &knowledge)

        for name in names(in: path) {
            let child = path.isEmpty ? "\(name)" : "\(path)/\(name)"
            let path = try vault.backingPath(of: name, in: directory, at: stored)
            knowledge.backing[child] = path
            knowledge.bindings[child] =
                Array(unsafe keys.bindings.tag(of: identifier.span.bytes, name.bytes.span.bytes).prefix(16))
            if image[path + ".name"] != nil { knowledge.sidecars[path] = image.bytes(path + ".name") }
            switch image[path] {
            case .folder: try learn(try vault.openDirectory(name, in: directory), at: child, &knowledge)
            case .file(let bytes, let attributes):
                knowledge.learn(file: bytes, contents: contents[child]!)
                let file = try vault.openFile(name, in: directory)
                try learnAttributes(of: .file(file), file.identifier.bytes, attributes, at: child, &knowledge)
            case .link(let target): knowledge.targets[target] = contents[child]!
            case .fifo, nil: break
            }
        }
    }

    /// The present and later names in a folder, as their writer knows them.
    private func names(in path: String) -> [Name] {
        let prefix = path.isEmpty ? "" : path + "/"
        return contents.keys.filter { $0.hasPrefix(prefix) && !$0.isEmpty && !$0.dropFirst(prefix.count).contains("/") }
            .map { Name(bytes: $0.dropFirst(prefix.count).utf8)! }
    }

    private func learnAttributes(
        of owner: AttributeOwner, _ identifier: [UInt8], _ stored: [String: [UInt8]], at path: String,
        _ knowledge: inout Knowledge
    ) throws {
        // The lengths of the values, which differ, tell which stored name is which: the names are not decrypted.
        let plain = PlainTree.attributes(of: path)
        for (text, value) in stored {
            guard let name = plain.first(where: { $0.value + 33 == value.count })?.key else { continue }
            knowledge.attributeNames[identifier, default: [:]][text] = name
            let known = try vault.attribute(Array(name.utf8), of: owner)
            knowledge.learn([text: value], named: [name: known], of: identifier)
            precondition(known.count == plain[name]!)
        }
    }
}
