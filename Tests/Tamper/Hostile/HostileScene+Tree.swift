/// Hostile directories and names.
extension HostileScene {
    /// Entries of a wrong kind.
    func foreign(for name: String) -> [BackingImage.Node] {
        [
            .link(Array(outside.utf8)), .link(Array("\(outside)/folder".utf8)), .link(Array("\(outside)/short".utf8)),
            .link(Array("\(outside)/none".utf8)), .link(Array("../outside/long".utf8)), .link(Array("..".utf8)),
            .link(Array(name.utf8)), .folder(), .fifo, .file([]),
            .file([UInt8](of: name, version: 1, count: 70_000)),
        ]
    }

    // MARK: Directories

    var directories: [() -> HostileVault] {
        let records = (16..<28).flatMap { offset in Edges.of(1).map { (offset, $0) } }
        return Crowd.vaults("directory records", of: records, self) { crowd, item in
            crowd.addFolder("record \(item.0) \(item.1)") { $0.put(item.1, 1, at: item.0) }
        } + [shapes, duplicates]
    }

    /// Records of other lengths, and other entries in their place.
    private var shapes: () -> HostileVault {
        {
            var crowd = Crowd("directory records of other shapes", self)
            for count in [0, 1, 27, 29, 44, 1000, 3000] {
                let folder = crowd.addFolder("of \(count) bytes")
                let text = self.forge.record([UInt8](repeating: 1, count: count), at: folder.binding)
                for name in ["/lk.dir", "/lk.dir.new"] {
                    crowd.vault.image.replace(folder.path + name, by: .link(text))
                }
            }
            for (number, node) in self.foreign(for: "lk.dir").enumerated() {
                for names in [["lk.dir"], ["lk.dir.new"], ["lk.dir", "lk.dir.new"]] {
                    let folder = crowd.addFolder("\(names.joined()) \(number)")
                    for name in names { crowd.vault.image.replace(folder.path + "/" + name, by: node) }
                }
            }
            return crowd.vault
        }
    }

    /// Directories of one ID: the root's, the parent's, each other's; and one whose pending record is another's.
    private var duplicates: () -> HostileVault {
        {
            var crowd = Crowd("directories of one ID", self)
            for (name, identifier) in [
                ("root's", self.forge.identifier(of: "")), ("A's", self.forge.identifier(of: "A")),
                ("D's", self.forge.identifier(of: "D")), ("zero", [UInt8](repeating: 0, count: 16)),
                ("zero too", [UInt8](repeating: 0, count: 16)), ("ones", [UInt8](repeating: 255, count: 16)),
            ] {
                crowd.addFolder(name) { $0.replaceSubrange(..<16, with: identifier) }
                let folder = crowd.addFolder(name + ", and pending") { $0.replaceSubrange(..<16, with: identifier) }
                let pending = [UInt8](repeating: 9, count: 16) + [1, 1] + [UInt8](repeating: 0, count: 10)
                crowd.vault.image.add(
                    folder.path + "/lk.dir.new", .link(self.forge.record(pending, at: folder.binding)))
            }
            return crowd.vault
        }
    }

    // MARK: Names

    private static let plainNames: [[UInt8]] =
        [
            ".", "..", "/", "../outside/short", "/etc/passwd", "a/b", "a/", "/a", "a\0b", "\0", "lk.keybag", "lk.dir",
            "lk.tmp.x", "\u{1B}[2J\u{7}", "\u{202E}txt", "line\nclass: none", " ", "-rf", "*", "\\",
        ].map { Array($0.utf8) }
        + [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], []]
        + [1, 2, 174, 175, 176, 177, 254, 255, 256, 257, 300, 1000, 3000].map { [UInt8](repeating: 110, count: $0) }

    var names: [() -> HostileVault] {
        [
            {
                var crowd = Crowd("names", self)
                // Twice, for both folders. A name that the disk has no room for cannot be planted.
                for name in Self.plainNames.flatMap({ [$0, $0] }) {
                    for isLong in [false, true] {
                        guard isLong || (name.count + 16) * 4 / 3 < 254 else { continue }
                        crowd.addFile(named: name, isLong: isLong)
                        crowd.add(name + [1], .folder(), isLong: isLong)
                        crowd.add(name + [2], .link(Forge.encoded(self.forge.target(name))), isLong: isLong)
                        crowd.add(name + [3], .fifo, isLong: isLong)
                    }
                    crowd.addFile(named: name + [4], isLong: true, hasSidecar: false)
                }
                return crowd.vault
            },
            {
                var crowd = Crowd("sidecars", self)
                for (number, node) in self.foreign(for: "lk.long.A").enumerated() {
                    let path = crowd.addFile(named: Array("sidecar \(number)".utf8), isLong: true)
                    crowd.vault.image.replace(path + ".name", by: node)
                }
                // The hash matches the sidecar, and the sidecar holds no name.
                for count in [0, 1, 15, 16, 17, 271, 272, 273, 70_000] {
                    let bytes = [UInt8](repeating: 7, count: count)
                    crowd.addBeside(crowd.addFile(named: [UInt8(count % 251)]), Forge.long(bytes), .file([1]))
                    crowd.addBeside(
                        crowd.addFile(named: [UInt8(count % 251)]), Forge.long(bytes) + ".name", .file(bytes))
                }
                return crowd.vault
            },
        ]
    }

    // MARK: Depth

    /// Nested folders: the vault removes some by itself, and walks through others.
    var depths: [() -> HostileVault] {
        [
            "lk.tmp.deep", "lk.nameless/lk.tmp.deep", "lk.targets/lk.tmp.deep", "deep", "lk.lost.deep",
            String(repeating: "A", count: 32), tampering.backing("D/folder") + "/lk.tmp.deep",
        ].map { name in
            {
                var vault = self.journalWithoutAPath("deep \(name)")
                vault.isKnown = name == "lk.tmp.deep" || name.hasPrefix("AAAA")
                let parts = name.split(separator: "/")
                if parts.count > 1 { vault.image.add(String(parts[0]), .folder()) }
                vault.depths[name] = 20_000
                return vault
            }
        }
    }
}
