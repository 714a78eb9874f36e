extension Attack {
    /// Whole blocks: zeros, other blocks of the file, blocks of other files, and earlier blocks.
    static let blocks = [
        Attack("write zeros over a block") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) && !path.hasSuffix("sparse") {
                try bench.zero(path)
            }
        },
        Attack("write zeros over a block of a file made sparse", .sparse) { bench in
            for path in bench.scene.files where path.hasSuffix("sparse") { try bench.zero(path) }
        },
        Attack("write zeros over an unsynced block", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.zero(path) }
        },
        Attack("write zeros over header or file") { bench in
            for path in bench.scene.files {
                let stored = bench.scene.backing(path)
                let count = bench.scene.current.bytes(stored).count
                for end in [8, 480, 512, count] {
                    try bench.attempt("/\(path), zeros to \(end)", lookingAt: bench.scene.names(ofFileAt: path)) {
                        $0.edit(stored) { $0.replaceSubrange(..<end, with: repeatElement(0, count: end)) }
                    }
                }
            }
        },
        Attack("move or swap blocks within a file") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) && !path.hasSuffix("sparse") {
                try bench.shuffle(path)
            }
        },
        Attack("move or swap blocks within a file made sparse", .sparse) { bench in
            for path in bench.scene.files where path.hasSuffix("sparse") { try bench.shuffle(path) }
        },
        Attack("move or swap unsynced blocks", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.shuffle(path) }
        },
        Attack("put a block of another file in its place") { bench in
            for path in bench.scene.files where !bench.scene.isUnsynced(path) { try bench.transplant(to: path) }
        },
        Attack("put a block of another file over an unsynced one", .unsynced) { bench in
            for path in bench.scene.files where bench.scene.isUnsynced(path) { try bench.transplant(to: path) }
        },
        Attack("put an older block back", .olderBlock) { bench in
            for path in bench.scene.files {
                let stored = bench.scene.backing(path)
                let older = bench.scene.old.bytes(stored)
                for k in 0..<bench.scene.blockCount(path) {
                    let room = StoredHeader.room(k, in: older.count)
                    try bench.attempt("/\(path), older block \(k)", lookingAt: bench.scene.names(ofFileAt: path)) {
                        $0.edit(stored) { $0.put(older[room], atBlock: k) }
                    }
                }
            }
        },
    ]
}

extension Documented {
    static let sparse = Documented(.zeros, "*Zeros in files made sparse*, at or past the header's first sparse block")
    static let olderBlock = Documented(
        [.other, .zeros], "Also an older version of one block, or of a header, in the same file")
}

extension TamperScene {
    func blockCount(_ path: String) -> Int {
        (current.bytes(backing(path)).count - StoredHeader.size + StoredHeader.storedBlock - 1)
            / StoredHeader.storedBlock
    }
}

extension [UInt8] {
    /// Writes stored bytes where block k lies, as pwrite(2) would.
    mutating func put(_ bytes: some Collection<UInt8>, atBlock k: Int) {
        let start = StoredHeader.size + StoredHeader.storedBlock * k
        if count < start { self += [UInt8](repeating: 0, count: start - count) }
        replaceSubrange(start..<Swift.min(count, start + bytes.count), with: bytes)
    }
}

extension Bench {
    fileprivate func zero(_ path: String) throws {
        let stored = scene.backing(path)
        let count = scene.current.bytes(stored).count
        for k in 0..<scene.blockCount(path) {
            let room = StoredHeader.room(k, in: count)
            let tag = max(room.lowerBound, room.upperBound - 16)
            // All of it; its nonce; its ciphertext; its tag; everything but its last byte.
            let parts = [
                room, room.prefix(16), room.lowerBound + min(16, room.count)..<tag, tag..<room.upperBound,
                room.dropLast(1),
            ]
            for part in parts where !part.isEmpty {
                try attempt("/\(path), zeros at \(part)", lookingAt: scene.names(ofFileAt: path)) {
                    $0.edit(stored) { $0.replaceSubrange(part, with: repeatElement(0, count: part.count)) }
                }
            }
        }
    }

    fileprivate func shuffle(_ path: String) throws {
        let stored = scene.backing(path)
        let bytes = scene.current.bytes(stored)
        let blocks = (0..<scene.blockCount(path)).map { Array(bytes[StoredHeader.room($0, in: bytes.count)]) }
        for one in blocks.indices {
            for other in blocks.indices where one != other {
                try attempt("/\(path), block \(one) copied to \(other)", lookingAt: scene.names(ofFileAt: path)) {
                    $0.edit(stored) { $0.put(blocks[one], atBlock: other) }
                }
                guard one < other else { continue }
                try attempt("/\(path), blocks \(one) and \(other) swapped", lookingAt: scene.names(ofFileAt: path)) {
                    $0.edit(stored) { file in
                        file.put(blocks[other], atBlock: one)
                        file.put(blocks[one], atBlock: other)
                    }
                }
            }
            // One block removed and the next ones moved up; one block inserted.
            try attempt("/\(path), block \(one) taken out", lookingAt: scene.names(ofFileAt: path)) {
                $0.edit(stored) { $0.removeSubrange(StoredHeader.room(one, in: $0.count)) }
            }
            try attempt("/\(path), block \(one) twice", lookingAt: scene.names(ofFileAt: path)) {
                $0.edit(stored) {
                    $0.insert(contentsOf: blocks[one], at: StoredHeader.room(one, in: $0.count).lowerBound)
                }
            }
        }
    }

    fileprivate func transplant(to path: String) throws {
        let stored = scene.backing(path)
        for other in scene.files where other != path {
            let source = scene.current.bytes(scene.backing(other))
            for k in 0..<scene.blockCount(path) {
                for from in Set([0, k]) where from < scene.blockCount(other) {
                    let block = source[StoredHeader.room(from, in: source.count)]
                    guard block.contains(where: { $0 != 0 }) else { continue }
                    try attempt(
                        "/\(path), block \(k) from block \(from) of /\(other)", lookingAt: scene.names(ofFileAt: path)
                    ) {
                        $0.edit(stored) { $0.put(block, atBlock: k) }
                    }
                }
            }
        }
    }
}
