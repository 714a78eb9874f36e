/// Hostile journals: heads, records, and the paths in them.
extension HostileScene {
    private func journal(
        _ name: String, _ change: @escaping (inout JournalBytes, BackingImage) -> Void
    ) -> () -> HostileVault {
        {
            var vault = HostileVault("journal: \(name)", self.crashed)
            var journal = JournalBytes(vault.image.bytes("lk.journal"), self.forge)
            change(&journal, vault.image)
            vault.image.edit("lk.journal") { $0 = journal.bytes }
            return vault
        }
    }

    var journalHeads: [() -> HostileVault] {
        [(8, 2), (16, 4), (20, 4), (24, 4), (48, 8), (56, 8), (64, 8), (72, 1), (80, 8), (88, 8)].flatMap {
            (offset, count) in
            let more: [UInt64] = offset == 48 ? [4096, 8192, 65_536, 1 << 20, 1 << 29, 1 << 30] : []
            return (Edges.of(count) + more).map { value in
                journal("head, \(offset) \(value)") { journal, _ in
                    journal.bytes.put(value, count, at: offset)
                    if offset >= 80 { journal.bytes[72] = 1 }
                }
            }
        } + journalParts
    }

    /// Numbers and sizes of parts, with the feature that says that there are more.
    private var journalParts: [() -> HostileVault] {
        [0, 1, 2, 3, 32, 33, 64, 65, 255].flatMap { (count: UInt8) in
            [4096, 1280 << 10, 32 << 20, 64 << 20, (64 << 20) + 4096, 1 << 30].map { (size: UInt64) in
                journal("head, \(count) parts of \(size)") { journal, _ in
                    journal.bytes[24] = 1
                    journal.bytes[73] = count
                    journal.bytes.put(size, 8, at: 48)
                }
            }
        }
    }

    /// Each kind of record, behind other records, with its numbers at their limits.
    var journalRecords: [() -> HostileVault] {
        (1...9).flatMap { (kind: UInt8) in
            Edges.of(8).flatMap { value in
                [(value, 0), (0, value), (value, value), (UInt64.max, value)].map { (generation, number) in
                    journal("record of kind \(kind), \(generation) \(number)") { journal, image in
                        let file = self.file(in: image)
                        var payload: [UInt8] =
                            switch kind {
                            case 1: Array(file.path.utf8)
                            case 2: [UInt8](repeating: 3, count: 4128)
                            case 3: file.header
                            case 5: Array("\0lk.tmp.AAAA\0AAAAAAAAAAAAAAAAAAAAAAAAAAAA".utf8)
                            case 8: [UInt8](repeating: 3, count: 3 * 4128)
                            case 6: file.identifier + Array(file.path.utf8)
                            default: []
                            }
                        if kind == 3 { payload = self.forge.header(payload) }
                        journal.append(kind, file.identifier, generation, number, payload)
                        journal.append(3, file.identifier, 0, 0, file.header)
                    }
                }
            }
        } + payloads
    }

    private var payloads: [() -> HostileVault] {
        (1...8).flatMap { (kind: UInt8) in
            [0, 1, 15, 16, 17, 32, 33, 511, 512, 513, 4127, 4128, 4129, 8192, 8193, 65_535, 132_096, 132_097].map {
                count in
                journal("record of kind \(kind) with \(count) bytes") { journal, image in
                    let file = self.file(in: image)
                    let payload = [UInt8](repeating: 65, count: count)
                    let generation = kind == 8 ? UInt64((count + 4127) / 4128) : .max
                    journal.append(kind, file.identifier, generation, 0, payload)
                    journal.append(3, file.identifier, 0, 0, file.header)
                }
            }
        }
    }

    /// The path of a file that replay is to write to, and of a folder that replay is to rename.
    var journalPaths: [() -> HostileVault] {
        let folder = tampering.backing("D")
        let paths =
            ["", "short", "empty", "folder/file"].flatMap { name in
                [
                    "\(outside)/\(name)", "../outside/\(name)", "\(folder)/../../outside/\(name)", "link/\(name)",
                    "./link/\(name)",
                ]
            } + [
                "..", ".", "/", "lk.keybag", "lk.journal", "lk.lock", "lk.dir", "\(folder)/lk.dir", "a\0b",
                String(repeating: "a", count: 256), String(repeating: "a/", count: 3000),
            ]
        return paths.flatMap { path in
            [1, 6].map { (kind: UInt8) in
                {
                    var vault = self.journal("path \(path.prefix(60)) in a record of kind \(kind)") { journal, image in
                        let file = self.file(in: image)
                        let identifier = [UInt8](repeating: 9, count: 16)
                        var header = file.header
                        header.replaceSubrange(40..<56, with: identifier)
                        let payload = (kind == 6 ? identifier : []) + Array(path.utf8.prefix(8000))
                        journal.append(kind, identifier, .max, 0, payload)
                        journal.append(3, identifier, 0, 0, self.forge.header(header))
                    }()
                    vault.image.add("link", .link(Array(self.outside.utf8)))
                    return vault
                }
            }
        }
            + paths.flatMap { path in
                [(path, "lk.tmp.planted", "back"), ("", path, "back"), ("", "lk.tmp.planted", path)].map {
                    (folder, moved, name) in
                    {
                        var vault = self.journal("moved \(folder.prefix(40)), \(moved.prefix(40)), \(name.prefix(40))")
                        {
                            journal, _ in
                            let payload = Array("\(folder)\0\(moved)\0\(name)".utf8.prefix(8192))
                            journal.append(5, [UInt8](repeating: 0, count: 16), 0, 0, payload)
                        }()
                        vault.image.add("link", .link(Array(self.outside.utf8)))
                        vault.image.add("lk.tmp.planted", .folder())
                        return vault
                    }
                }
            }
    }

    /// A file that replay has to look for in the whole vault.
    func journalWithoutAPath(_ name: String) -> HostileVault {
        var vault = journal(name) { journal, image in
            let file = self.file(in: image)
            let identifier = [UInt8](repeating: 9, count: 16)
            var header = file.header
            header.replaceSubrange(40..<56, with: identifier)
            journal.append(1, identifier, .max, 1, [])
            journal.append(3, identifier, 0, 0, self.forge.header(header))
        }()
        vault.isMountable = true
        return vault
    }

    private func file(in image: BackingImage) -> (path: String, identifier: [UInt8], header: [UInt8]) {
        let path = tampering.backing("D/8193")
        let header = Array(image.bytes(path)[..<512])
        return (path, Array(header[40..<56]), header)
    }
}

/// A journal, to which records are appended as a daemon would.
struct JournalBytes {
    var bytes: [UInt8] {
        get { forge.journalHead(content) }
        set { content = newValue }
    }
    private var content: [UInt8]
    private let forge: Forge
    /// The offset of the next record, in the part that is in use.
    private var part = 4096
    private var position = 0
    private var epoch: UInt64 = 0

    init(_ bytes: [UInt8], _ forge: Forge) {
        content = bytes
        self.forge = forge
        let size = Int(bytes.integer(8, at: 48))
        for start in [4096, 4096 + size] where start + 64 < bytes.count && bytes.integer(8, at: start + 8) > epoch {
            (part, epoch) = (start, bytes.integer(8, at: start + 8))
        }
        // Records that were flushed separately begin at sectors.
        while let record = [position, (position + 511) / 512 * 512].first(where: { isRecord(at: $0) }) {
            position = record + Int(bytes.integer(4, at: part + record))
        }
    }

    private func isRecord(at position: Int) -> Bool {
        let start = part + position
        return start + 96 <= content.count && content.integer(4, at: start) >= 96
            && content.integer(8, at: start + 8) == epoch
            && content.integer(8, at: start + 16) == UInt64(position)
    }

    mutating func append(
        _ kind: UInt8, _ file: [UInt8], _ generation: UInt64, _ number: UInt64, _ payload: [UInt8]
    ) {
        let size = (64 + payload.count + 32 + 7) / 8 * 8
        var record = Forge.bytes(UInt64(size), 4) + [kind, 0, 0, 0] + Forge.bytes(epoch, 8)
        record += Forge.bytes(UInt64(position), 8) + file + Forge.bytes(generation, 8) + Forge.bytes(number, 8)
        record += [0, 0, 0, 0] + Forge.bytes(UInt64(payload.count), 4) + payload
        record += [UInt8](repeating: 0, count: size - 32 - record.count)
        let start = part + position
        if content.count < start + size { content += [UInt8](repeating: 0, count: start + size - content.count) }
        content.replaceSubrange(start..<start + size, with: forge.journalRecord(record))
        position += size
    }
}
