/// Independent hostile entries beside each other in one vault, in folders of class A and D.
struct Crowd {
    private let scene: HostileScene
    var vault: HostileVault
    private var count = 0

    init(_ name: String, _ scene: HostileScene) {
        self.scene = scene
        vault = HostileVault(name, scene.good)
        vault.isMountable = true
    }

    /// Takes the entries of a list in order, and puts as many in each vault as can be used quickly.
    static func vaults<Item>(
        _ name: String, of items: [Item], each most: Int = 80, _ scene: HostileScene,
        _ add: @escaping (inout Crowd, Item) -> Void
    ) -> [() -> HostileVault] {
        stride(from: 0, to: items.count, by: most).map { start in
            {
                var crowd = Crowd("\(name), \(start) and on", scene)
                for item in items[start..<min(start + most, items.count)] { add(&crowd, item) }
                return crowd.vault
            }
        }
    }

    /// Where the next entry goes: a folder of the mount, its ID and its backing path.
    private mutating func next() -> (folder: String, identifier: [UInt8], prefix: String) {
        count += 1
        let folder = count % 2 == 0 ? "A" : "D"
        return (folder, scene.forge.identifier(of: folder), scene.tampering.backing(folder) + "/")
    }

    /// A file of 9,000 bytes with another header, and with changed bytes behind the header where needed.
    ///
    /// - Parameter change: changes all bytes; the header is sealed afterwards.
    /// - Returns: the backing path.
    @discardableResult mutating func addFile(
        _ name: String, isFinal: Bool = false, _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> String {
        let (folder, identifier, prefix) = next()
        let stored = prefix + scene.forge.stored(Array(name.utf8), in: identifier).name
        var bytes = scene.good.bytes(scene.tampering.backing(folder + "/grown"))
        bytes.replaceSubrange(104..<120, with: scene.forge.binding(Array(name.utf8), in: identifier))
        if isFinal { bytes = scene.forge.header(bytes) }
        change(&bytes)
        vault.image.add(stored, .file(isFinal ? bytes : scene.forge.header(bytes)))
        return stored
    }

    /// A folder with a record of 28 bytes; nil for none.
    ///
    /// - Returns: backing path, ID and binding.
    @discardableResult mutating func addFolder(
        _ name: String, _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> (path: String, identifier: [UInt8], binding: [UInt8]) {
        let (_, identifier, prefix) = next()
        let stored = prefix + scene.forge.stored(Array(name.utf8), in: identifier).name
        let binding = scene.forge.binding(Array(name.utf8), in: identifier)
        var record = [UInt8](of: name, version: count, count: 16) + [3, 0] + [UInt8](repeating: 0, count: 10)
        change(&record)
        vault.image.add(stored, .folder())
        vault.image.add(stored + "/lk.dir", .link(scene.forge.record(record, at: binding)))
        addInner(to: stored, Array(record.prefix(16)))
        return (stored, Array(record.prefix(16)), binding)
    }

    /// A file in a folder whose ID is known.
    private mutating func addInner(to folder: String, _ identifier: [UInt8]) {
        var bytes = scene.good.bytes(scene.tampering.backing("D/grown"))
        bytes.replaceSubrange(104..<120, with: scene.forge.binding(Array("inner".utf8), in: identifier))
        let stored = scene.forge.stored(Array("inner".utf8), in: identifier).name
        vault.image.add(folder + "/" + stored, .file(scene.forge.header(bytes)))
    }

    /// Any entry, under an encrypted name.
    ///
    /// - Returns: the backing path.
    @discardableResult mutating func add(
        _ name: [UInt8], _ node: BackingImage.Node, isLong: Bool? = nil, hasSidecar: Bool = true
    ) -> String {
        let (_, identifier, prefix) = next()
        let stored = scene.forge.stored(name, in: identifier, isLong: isLong)
        vault.image.add(prefix + stored.name, node)
        if let sidecar = stored.sidecar, hasSidecar {
            vault.image.add(prefix + stored.name + ".name", .file(sidecar))
        }
        return prefix + stored.name
    }

    /// A whole file under any bytes for a name.
    @discardableResult mutating func addFile(
        named name: [UInt8], isLong: Bool? = nil, hasSidecar: Bool = true
    ) -> String {
        let identifier = scene.forge.identifier(of: (count + 1) % 2 == 0 ? "A" : "D")
        var bytes = scene.good.bytes(scene.tampering.backing("D/grown"))
        bytes.replaceSubrange(104..<120, with: scene.forge.binding(name, in: identifier))
        return add(name, .file(scene.forge.header(bytes)), isLong: isLong, hasSidecar: hasSidecar)
    }

    /// An entry beside the others, under any name.
    mutating func addBeside(_ path: String, _ name: String, _ node: BackingImage.Node) {
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        vault.image.add((folder.isEmpty ? "" : folder + "/") + name, node)
    }
}
