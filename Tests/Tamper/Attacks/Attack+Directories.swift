extension Attack {
    /// Directories and their records.
    static let directories = [
        Attack("change a character of a directory's record") { bench in
            try bench.forEachRecord { path, record in
                let text = bench.scene.current.target(record)
                for offset in text.indices {
                    for character in Array("A_z9".utf8) where character != text[offset] {
                        try bench.attempt("/\(path), character \(offset) of its record", lookingAt: bench.below(path)) {
                            var changed = text
                            changed[offset] = character
                            $0.replace(record, by: .link(changed))
                        }
                    }
                }
            }
        },
        Attack("truncate, lengthen, remove or replace a directory's record") { bench in
            try bench.forEachRecord { path, record in
                let text = bench.scene.current.target(record)
                for size in 1..<text.count {
                    try bench.attempt("/\(path), record truncated to \(size)", lookingAt: bench.below(path)) {
                        $0.replace(record, by: .link(Array(text[..<size])))
                    }
                }
                for node in [
                    .link(text + [65]), .link(text + [61]), .link(Array("/".utf8)), .file(text), .file([]), .folder(),
                    .fifo,
                ] as [BackingImage.Node] {
                    try bench.attempt("/\(path), record replaced", lookingAt: bench.below(path)) {
                        $0.replace(record, by: node)
                    }
                }
                try bench.attempt("/\(path), record removed", lookingAt: bench.below(path)) { $0.remove(record) }
            }
        },
        Attack("put the record of another directory there") { bench in
            try bench.forEachRecord { path, record in
                for other in bench.scene.folders where other != path {
                    let theirs = bench.scene.current.target(bench.record(of: other))
                    try bench.attempt("/\(path), record of /\(other)", lookingAt: bench.below(path)) {
                        $0.replace(record, by: .link(theirs))
                    }
                    try bench.attempt("/\(path), pending record of /\(other)", lookingAt: bench.below(path)) {
                        $0.replace(record + ".new", by: .link(theirs))
                    }
                    try bench.attempt("/\(path), only the pending record of /\(other)", lookingAt: bench.below(path)) {
                        $0.remove(record)
                        $0.replace(record + ".new", by: .link(theirs))
                    }
                }
            }
        },
        Attack("make a directory's record the pending one") { bench in
            try bench.forEachRecord { path, record in
                try bench.attempt("/\(path), lk.dir.new", lookingAt: bench.below(path)) {
                    $0.move(record, to: record + ".new")
                }
            }
        },
        Attack(
            "put an older record of a directory back",
            Documented(.other, "An older directory record brings back an older default class")
        ) {
            bench in
            try bench.forEachRecord { path, record in
                let older = bench.scene.old.target(record)
                try bench.attempt("/\(path), older record", lookingAt: bench.below(path)) {
                    $0.replace(record, by: .link(older))
                }
                try bench.attempt("/\(path), older pending record", lookingAt: bench.below(path)) {
                    $0.replace(record, by: .link([65]))
                    $0.replace(record + ".new", by: .link(older))
                }
            }
        },
    ]
}

extension Bench {
    fileprivate func record(of path: String) -> String {
        path.isEmpty ? "lk.dir" : scene.backing(path) + "/lk.dir"
    }

    fileprivate func forEachRecord(_ body: (String, String) throws -> Void) throws {
        for path in scene.folders { try body(path, record(of: path)) }
    }
}
