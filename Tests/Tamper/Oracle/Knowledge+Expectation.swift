extension Knowledge {
    /// What a program must see at a path of the mount, given the vault's folder: docs/FORMAT.md, with unbroken ciphers.
    public func expected(_ path: String, in image: BackingImage) -> Seen {
        if !path.isEmpty, let obstacle = obstacle(above: path, in: image) { return obstacle }
        let stored = backing[path]!
        guard let node = path.isEmpty ? .folder(attributes: [:]) : image[stored] else { return .missing }
        switch node {
        case .file(let bytes, let attributes): return file(bytes, attributes, at: path)
        case .folder(let attributes): return folder(path, stored, attributes, in: image)
        case .link(let text): return targets[text].map { .link($0) } ?? .refused
        case .fifo: return .special
        }
    }

    /// The obstacle to everything in a folder; nil if there is none.
    private func obstacle(above path: String, in image: BackingImage) -> Seen? {
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        if !parent.isEmpty, let obstacle = obstacle(above: parent, in: image) { return obstacle }
        let stored = backing[parent]!
        if !parent.isEmpty {
            guard let node = image[stored] else { return .missing }
            guard case .folder = node else { return expected(parent, in: image) == .refused ? .refused : .missing }
        }
        return record(of: parent, stored, in: image) == nil ? .refused : nil
    }

    /// The record under which a folder opens.
    private func record(of path: String, _ stored: String, in image: BackingImage) -> Folder? {
        let prefix = stored.isEmpty ? "" : stored + "/"
        let known = records[path] ?? [:]
        // The root is never moved.
        return known[image.target(prefix + "lk.dir")]
            ?? (path.isEmpty ? nil : known[image.target(prefix + "lk.dir.new")])
    }

    private func file(_ bytes: [UInt8], _ attributes: [String: [UInt8]], at path: String) -> Seen {
        guard bytes.count >= StoredHeader.size, let header = headers[Array(bytes[..<StoredHeader.size])],
            header.hasManyLinks || header.bindings.contains(bindings[path]!)
        else { return .refused }
        return .file(
            SeenFile(
                size: header.provisionalLength, protection: header.protection(at: bindings[path]!),
                blocks: (0..<header.blockCount).map { block($0, of: header, bytes) },
                attributes: values(attributes, of: header.file)))
    }

    private func block(_ k: Int, of header: StoredHeader, _ bytes: [UInt8]) -> [UInt8]? {
        let room = StoredHeader.room(k, in: bytes.count)
        let known = blocks[header.file]?[k] ?? [:]
        let live = header.live(k)
        /// Bytes that verify are returned up to the file's end, with zeros where blocks are missing.
        func opened(_ stored: ArraySlice<UInt8>) -> [UInt8]? {
            known[Array(stored)].map {
                Array(($0 + [UInt8](repeating: 0, count: max(0, live - $0.count))).prefix(live))
            }
        }
        let zeros = [UInt8](repeating: 0, count: live)
        let confirmed = header.confirmed(k) + StoredHeader.overhead
        let provisional = live + StoredHeader.overhead
        let isConfirmed = header.confirmed(k) > 0
        if isConfirmed {
            guard room.count >= confirmed else { return nil }
            let stored = bytes[room].prefix(confirmed)
            if UInt64(k) >= header.firstSparse, stored.allSatisfy({ $0 == 0 }) { return zeros }
        }
        // With one of the sizes that it can have.
        let sizes = (isConfirmed ? [confirmed] : []) + [provisional, room.count]
        for size in sizes where size <= room.count && (!isConfirmed || size >= confirmed) {
            if let plain = opened(bytes[room].prefix(size)) { return plain }
        }
        return isConfirmed ? nil : zeros
    }

    private func folder(
        _ path: String, _ stored: String, _ attributes: [String: [UInt8]], in image: BackingImage
    ) -> Seen {
        guard let record = record(of: path, stored, in: image) else { return .refused }
        let inside = path.isEmpty ? "" : path + "/"
        let names = backing.compactMap { child, stored -> String? in
            guard child.hasPrefix(inside), !child.isEmpty, !child.dropFirst(inside.count).contains("/"),
                image[stored] != nil, isListed(stored, in: image)
            else { return nil }
            return String(child.dropFirst(inside.count))
        }
        return .folder(
            SeenFolder(
                protection: record.protection, names: Set(names), attributes: values(attributes, of: record.identifier))
        )
    }

    private func isListed(_ stored: String, in image: BackingImage) -> Bool {
        guard let contents = sidecars[stored] else { return true }
        guard case .file(let bytes, _)? = image[stored + ".name"] else { return false }
        return bytes == contents
    }

    private func values(_ stored: [String: [UInt8]], of owner: [UInt8]) -> [String: [UInt8]?] {
        var values: [String: [UInt8]?] = [:]
        for (text, value) in stored {
            guard let name = attributeNames[owner]?[text] else { continue }
            values[name] = .some(attributeValues[owner]?[name]?[value])
        }
        return values
    }
}
