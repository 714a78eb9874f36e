/// Hostile attributes, summaries and symbolic links.
extension HostileScene {
    private static let attributeNames: [[UInt8]] =
        [
            "user.x", "user.latchkey.class", "user.latchkey.explicit", "system.posix_acl_access",
            "system.posix_acl_default", "security.capability", "security.selinux", "trusted.x", "user.", "user", ".",
            "user.lk", "user.a/b", "user.\u{1B}[2J", "user.a\nb",
        ].map { Array($0.utf8) }
        + [[], [0], [0xFF], Array("user.a".utf8) + [0] + Array("b".utf8)]
        + [168, 169, 170, 255, 256, 1000, 60_000].map { Array("user.".utf8) + [UInt8](repeating: 97, count: $0 - 5) }

    private static var attributeValues: [[UInt8]] {
        [[], [0], Array("none".utf8), [UInt8](repeating: 9, count: 300)] + accessLists
    }

    /// For system.posix_acl_*: versions, tags, permissions and counts at their limits.
    private static var accessLists: [[UInt8]] {
        func entry(_ tag: UInt64, _ permissions: UInt64, _ identifier: UInt64) -> [UInt8] {
            Forge.bytes(tag, 2) + Forge.bytes(permissions, 2) + Forge.bytes(identifier, 4)
        }
        let base = [entry(1, 7, 1 << 31), entry(4, 7, 0), entry(0x20, 7, 0)]
        var lists: [[UInt8]] = [Forge.bytes(2, 4), Forge.bytes(2, 4) + [1]]
        for version in [0, 1, 2, 3, 0xFFFF_FFFF] as [UInt64] { lists.append(Forge.bytes(version, 4) + base.joined()) }
        for tag in [0, 1, 2, 3, 4, 8, 16, 32, 64, 0x8000, 0xFFFF] as [UInt64] {
            for permissions in [0, 7, 8, 0xFFFF] as [UInt64] {
                lists.append(Forge.bytes(2, 4) + (base + [entry(tag, permissions, .max)]).joined())
                lists.append(Forge.bytes(2, 4) + (base + [entry(16, permissions, 0), entry(tag, 7, 0)]).joined())
            }
        }
        lists.append(Forge.bytes(2, 4) + base.joined() + (0..<4000).flatMap { entry(2, 7, UInt64($0)) })
        return lists
    }

    var attributes: [() -> HostileVault] {
        var cases: [([UInt8], [UInt8], Bool)] = []
        for name in Self.attributeNames {
            let isList = name.starts(with: Array("system.".utf8))
            for value in isList ? Self.attributeValues : Array(Self.attributeValues.prefix(4)) {
                for isLong in [false, true] where isLong || name.count < 160 { cases.append((name, value, isLong)) }
            }
        }
        return Crowd.vaults("attributes", of: cases, self) { crowd, item in
            let (name, value, isLong) = item
            // If the disk takes no value of that length, an attacker cannot plant one.
            let path = crowd.addFile(
                "attribute \(name.count) \(value.count) \(isLong) \(crowd.vault.image.names.count)")
            let owner = Array(self.good.bytes(self.tampering.backing("D/grown"))[40..<56])
            let ofA = Array(self.good.bytes(self.tampering.backing("A/grown"))[40..<56])
            for identifier in [owner, ofA] {
                let stored = self.forge.attribute(name, value, of: identifier, isLong: isLong)
                crowd.vault.image.editAttributes(path) { $0[stored.name] = stored.value }
            }
            let folder = crowd.addFolder("folder with \(crowd.vault.image.names.count)")
            let stored = self.forge.attribute(name, value, of: folder.identifier, isLong: isLong)
            crowd.vault.image.editAttributes(folder.path) { $0[stored.name] = stored.value }
        } + [continuations] + summaries
    }

    /// Values that fill an attribute, with and without the continuation that they promise; long names, truncated.
    private var continuations: () -> HostileVault {
        {
            var crowd = Crowd("continuations of attributes", self)
            for (number, count) in [65_503, 65_504, 65_519, 65_520, 65_536].enumerated() {
                for continuation in [nil, [], [UInt8](repeating: 1, count: 65_536)] as [[UInt8]?] {
                    let path = crowd.addFile("rest \(number) \(continuation?.count ?? -1)")
                    let nonce = [UInt8](of: "rest", version: number, count: 16)
                    crowd.vault.image.editAttributes(path) { attributes in
                        let name = "user.lk." + Forge.text([UInt8](of: "name", version: number, count: 40))
                        attributes[name] = Array((nonce + [UInt8](repeating: 3, count: 65_536)).prefix(count))
                        attributes["user.lk.rest." + Forge.text(nonce)] = continuation
                    }
                }
            }
            for value in [[], [0], [0, 0], [255, 255], [255, 255, 1], [16, 0] + [UInt8](repeating: 1, count: 16)]
                as [[UInt8]]
            {
                let path = crowd.addFile("long \(value.count) \(value.first ?? 0)")
                crowd.vault.image.editAttributes(path) {
                    $0["user.lk.long." + Forge.text([UInt8](of: "long", version: value.count, count: 32))] = value
                }
            }
            return crowd.vault
        }
    }

    /// What stat(2) shows without the header: docs/FORMAT.md, "Summaries".
    private var summaries: [() -> HostileVault] {
        let edges = [(1, 1), (18, 8), (26, 8), (34, 8), (42, 8)].flatMap { (offset, count) in
            Edges.of(count).map { (offset, count, $0) }
        }
        let stamp: UInt64 = 1_700_000_000
        var cases = edges.map { ($0, stamp) }
        for time in [0, 1, 1 << 31, 1 << 34, 1 << 62, (1 << 63) - 1, 1 << 63, .max] as [UInt64] {
            cases.append(((26, 8, 0), time))
        }
        return Crowd.vaults("summaries", of: cases, self) { crowd, item in
            let ((offset, count, value), stamp) = item
            var header: [UInt8] = []
            let path = crowd.addFile("summary \(offset) \(value) \(stamp)") { bytes in
                bytes.put(stamp, 8, at: 352)
                header = bytes
            }
            var fields = [UInt8](repeating: 0, count: 50)
            fields[0] = 1
            fields[1] = header[56]
            fields.replaceSubrange(2..<18, with: header[40..<56])
            fields.replaceSubrange(18..<26, with: header[64..<72])
            fields.put(value, count, at: offset)
            let summary = self.forge.summary(
                fields, at: Array(header[104..<120]), size: UInt64(header.count), stamp: stamp)
            crowd.vault.image.editAttributes(path) { $0["user.lk"] = summary }
            crowd.date(path, Int64(bitPattern: stamp))
        }
    }

    // MARK: Symbolic links

    var links: [() -> HostileVault] {
        [
            {
                var crowd = Crowd("symbolic links", self)
                let targets: [[UInt8]] =
                    [[], [0], Array("a\0b".utf8), Array("/".utf8), Array("..".utf8), Array(self.outside.utf8)]
                    + [1, 255, 1000, 3007, 3008, 3039, 3040].map { [UInt8](repeating: 120, count: $0) }
                for (number, target) in targets.enumerated() {
                    let text = Forge.encoded(self.forge.target(target))
                    if text.count <= 4095, !text.isEmpty { crowd.add(Array("link \(number)".utf8), .link(text)) }
                }
                let texts = ["A", "AA", "..", "/", "lk.target.", "lk.target.AAAA", "lk.target.../../outside/short"]
                for text in texts + [String(repeating: "A", count: 4095)] {
                    crowd.add(
                        Array("text \(text.count) \(text.prefix(30).replacing("/", with: "_"))".utf8),
                        .link(Array(text.utf8)))
                }
                return crowd.vault
            },
            {
                var crowd = Crowd("long targets", self)
                crowd.vault.image.add("lk.targets", .folder())
                var nodes = self.foreign(for: "lk.target.x")
                for count in [0, 1, 3040, 4094, 4095, 4096, 5000, 65_535] {
                    nodes.append(.file(self.forge.target([UInt8](repeating: 120, count: count))))
                }
                for (number, node) in nodes.enumerated() {
                    let name = "lk.target." + Forge.text([UInt8](of: "long target", version: number, count: 16))
                    crowd.vault.image.add("lk.targets/" + name, node)
                    for copy in ["", " too"] { crowd.add(Array("long \(number)\(copy)".utf8), .link(Array(name.utf8))) }
                }
                return crowd.vault
            },
        ]
    }
}
