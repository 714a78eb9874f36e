extension Attack {
    /// Single bytes, and the file's length.
    static let bytes = [
        Attack("flip a byte of a header") { bench in
            for path in bench.scene.files {
                for offset in 0..<StoredHeader.size {
                    for mask in [1, 0x80, 0xFF] as [UInt8] { try bench.flip(offset, mask, of: path) }
                }
            }
        },
        Attack("flip a byte of a block") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) { try bench.flipBlocks(of: path) }
        },
        Attack("flip a byte past the confirmed length", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.flipBlocks(of: path) }
        },
        Attack("truncate to a length") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) { try bench.truncate(path) }
        },
        Attack("truncate past the confirmed length", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.truncate(path) }
        },
        Attack("append bytes") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) { try bench.append(to: path) }
        },
        Attack("append bytes to an unsynced block", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.append(to: path) }
        },
    ]
}

extension Documented {
    static let unsynced = Documented(
        .zeros, "a block there that does not verify counts as lost in a crash, and reads as zeros")
}

extension TamperScene {
    /// Whether the file is one of those that exist for their size.
    func isSized(_ path: String) -> Bool { path.split(separator: "/").last.map { Int($0) != nil } ?? false }

    /// Whether the file has bytes that no sync confirmed.
    func isUnsynced(_ path: String) -> Bool { path.hasSuffix("/unsynced") || path.hasSuffix("/never synced") }
}

extension Bench {
    fileprivate func flip(_ offset: Int, _ mask: UInt8, of path: String) throws {
        try attempt("/\(path), byte \(offset) by \(mask)", lookingAt: scene.names(ofFileAt: path)) {
            $0.edit(scene.backing(path)) { $0[offset] ^= mask }
        }
    }

    /// Each byte of all blocks; every 61st byte of files whose blocks resemble another file's.
    fileprivate func flipBlocks(of path: String) throws {
        let count = scene.current.bytes(scene.backing(path)).count
        let isOneOfItsKind = scene.isSized(path) || scene.isUnsynced(path) || path.hasSuffix("sparse")
        for offset in stride(from: StoredHeader.size, to: count, by: isOneOfItsKind ? 1 : 61) {
            try flip(offset, 1 << UInt8(offset % 8), of: path)
        }
    }

    /// To every length if the file is small, otherwise to all lengths around a block border and some between.
    fileprivate func truncate(_ path: String) throws {
        let stored = scene.backing(path)
        let count = scene.current.bytes(stored).count
        for size in 0..<count {
            let position = (size + StoredHeader.storedBlock - StoredHeader.size) % StoredHeader.storedBlock
            let isAtBorder = position < 40 || position > StoredHeader.storedBlock - 40
            guard count <= 4700 && scene.isSized(path) || isAtBorder || size % 61 == 0 else { continue }
            try attempt("/\(path) truncated to \(size)", lookingAt: scene.names(ofFileAt: path)) {
                $0.edit(stored) { $0.removeSubrange(size...) }
            }
        }
    }

    fileprivate func append(to path: String) throws {
        let stored = scene.backing(path)
        let bytes = scene.current.bytes(stored)
        var tails = [1, 31, 32, 33, 512, 4096, 4127, 4128, 4129, 9000].flatMap { count in
            [[UInt8](repeating: 0, count: count), [UInt8](of: path, version: 3, count: count)]
        }
        tails += [Array(bytes.dropFirst(512).prefix(4128)), Array(bytes.suffix(4128)), bytes]
        for tail in tails where !tail.isEmpty {
            try attempt("/\(path) with \(tail.count) bytes more", lookingAt: scene.names(ofFileAt: path)) {
                $0.edit(stored) { $0 += tail }
            }
        }
    }
}
