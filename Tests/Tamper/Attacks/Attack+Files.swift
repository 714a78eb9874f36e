extension Attack {
    /// Headers and whole files: other files', planted ones, older ones, none.
    static let files = [
        Attack("put the header of another file there") { bench in
            try bench.forEachPair(ofManyLinks: false) { path, other in
                let header = bench.scene.current.bytes(bench.scene.backing(other)).prefix(StoredHeader.size)
                try bench.attempt("/\(path), header of /\(other)", lookingAt: bench.scene.names(ofFileAt: path)) {
                    $0.edit(bench.scene.backing(path)) { $0.replaceSubrange(..<StoredHeader.size, with: header) }
                }
            }
        },
        Attack("put another file there") { bench in
            try bench.forEachPair(ofManyLinks: false) { path, other in try bench.substitute(other, for: path) }
        },
        Attack("put a file of more than 13 links there", .manyLinks) { bench in
            try bench.forEachPair(ofManyLinks: true) { path, other in try bench.substitute(other, for: path) }
        },
        Attack("put a file's body under the header of one with more than 13 links", .manyLinks) { bench in
            try bench.forEachPair(ofManyLinks: true) { path, other in
                let header = bench.scene.current.bytes(bench.scene.backing(other)).prefix(StoredHeader.size)
                try bench.attempt("/\(path), header of /\(other)", lookingAt: bench.scene.names(ofFileAt: path)) {
                    $0.edit(bench.scene.backing(path)) { $0.replaceSubrange(..<StoredHeader.size, with: header) }
                }
            }
        },
        Attack("plant an empty, short or foreign file") { bench in
            let foreign = try TamperScene()
            for path in bench.scene.files {
                let whole = bench.scene.current.bytes(bench.scene.backing(path))
                var planted = [0, 1, 8, 100, 511, 512, 513, 4096, 4640, 20_000].map { count in
                    [UInt8](of: path, version: 4, count: count)
                }
                planted.append([UInt8](repeating: 0, count: 4640))
                planted.append(Array("LKFILE\r\n".utf8))
                planted.append(Array(whole[..<511]))
                // The same file of a vault that was made in the same way.
                if let same = foreign.knowledge.backing[path] {
                    let other = foreign.current.bytes(same)
                    let body = Array(whole[512...])
                    planted.append(other)
                    planted.append(Array(other[..<512]) + body)
                    if !body.isEmpty { planted.append(Array(whole[..<512]) + other[512...]) }
                }
                for (index, bytes) in planted.enumerated() {
                    // Bytes that were never synced may be lost: another row has that.
                    guard !bench.scene.isUnsynced(path) || !bytes.starts(with: whole[..<512]) else { continue }
                    try bench.attempt("/\(path), planted file \(index)", lookingAt: bench.scene.names(ofFileAt: path)) {
                        $0.edit(bench.scene.backing(path)) { $0 = bytes }
                    }
                }
            }
        },
        Attack(
            "put an older file back",
            Documented([.other, .missing, .zeros], "An older version of a whole file put back")
        ) { bench in
            for path in bench.scene.knowledge.paths {
                let stored = bench.scene.backing(path)
                guard case .file(let bytes, _)? = bench.scene.old[stored] else { continue }
                try bench.attempt("/\(path), older", lookingAt: bench.below(path) + bench.scene.names(ofFileAt: path)) {
                    image in
                    if image[stored] == nil { image.take(stored, of: bench.scene.old, as: stored) }
                    image.edit(stored) { $0 = bytes }
                }
            }
        },
        Attack("put an older header back", .olderBlock) { bench in
            for path in bench.scene.files {
                let stored = bench.scene.backing(path)
                guard case .file(let bytes, _)? = bench.scene.old[stored] else { continue }
                try bench.attempt("/\(path), older header", lookingAt: bench.scene.names(ofFileAt: path)) {
                    $0.edit(stored) { $0.replaceSubrange(..<512, with: bytes[..<512]) }
                }
            }
        },
        Attack("put something of another kind there") { bench in
            for path in bench.scene.files + bench.scene.folders.filter({ $0 != "" }) {
                let stored = bench.scene.backing(path)
                for (what, node) in [
                    ("a foreign link", .link(Array("/etc/passwd".utf8))), ("a link to nothing of ours", .link([65])),
                    ("an empty folder", .folder()), ("a file of nothing", .file([])),
                ] as [(String, BackingImage.Node)] {
                    try bench.attempt("/\(path), \(what)", lookingAt: bench.below(path)) {
                        $0.replace(stored, by: node)
                    }
                }
                for folder in bench.scene.folders where folder != "" && folder != path {
                    try bench.attempt("/\(path), the folder /\(folder)", lookingAt: bench.below(path)) { image in
                        image.take(bench.scene.backing(folder), of: bench.scene.current, as: stored)
                    }
                }
            }
        },
        Attack("put a link of ours or a special file there", .links) { bench in
            let link = bench.scene.current.target(bench.scene.backing(bench.scene.links[0]))
            for path in bench.scene.files + bench.scene.folders.filter({ $0 != "" }) + bench.scene.links {
                for node in [.link(link), .fifo] as [BackingImage.Node] {
                    try bench.attempt("/\(path), \(node)", lookingAt: bench.below(path)) {
                        $0.replace(bench.scene.backing(path), by: node)
                    }
                }
            }
        },
        Attack("delete", Documented(.missing, "*A deleted file, directory or attribute*")) { bench in
            for path in bench.scene.knowledge.paths where path != "" && bench.scene.written[path] != .missing {
                try bench.attempt("/\(path), deleted", lookingAt: bench.below(path)) {
                    $0.remove(bench.scene.backing(path))
                }
            }
        },
    ]
}

extension Documented {
    static let manyLinks = Documented(
        [.other, .zeros, .missing], "*Substitution among files that had more than 13 hard links.*")
    static let links = Documented([.other, .missing], "*Substitution by symbolic links and special files.*")
}

extension Bench {
    /// Each file with each other file.
    fileprivate func forEachPair(ofManyLinks: Bool, _ body: (String, String) throws -> Void) throws {
        for path in scene.files {
            for other in scene.files where other != path && other.hasPrefix("links/") == ofManyLinks {
                try body(path, other)
            }
        }
    }

    /// Contents alone: the attributes stay where they were.
    fileprivate func substitute(_ other: String, for path: String) throws {
        let bytes = scene.current.bytes(scene.backing(other))
        try attempt("/\(path), as /\(other)", lookingAt: scene.names(ofFileAt: path)) {
            $0.edit(scene.backing(path)) { $0 = bytes }
        }
    }

    /// A path, the folder that lists it, and, if it is a folder, everything in it.
    func below(_ path: String) -> [String] {
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        return [parent] + scene.knowledge.paths.filter { $0 == path || $0.hasPrefix(path + "/") }
    }
}
