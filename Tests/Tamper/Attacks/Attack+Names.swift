extension Attack {
    /// Names: exchanged, moved, changed, and the sidecars of long ones.
    static let names = [
        Attack("exchange two names") { bench in
            for folder in bench.scene.folders {
                let entries = bench.entries(of: folder).filter { !bench.isUnbound($0) }
                for (index, one) in entries.enumerated() {
                    for other in entries[(index + 1)...] where !bench.areOneFile(one, other) {
                        try bench.exchange(one, other)
                    }
                }
            }
        },
        Attack("exchange entries of two directories") { bench in
            for one in bench.scene.files where !one.hasPrefix("links/") {
                for other in bench.scene.files where one < other && !other.hasPrefix("links/") {
                    guard one.split(separator: "/").last == other.split(separator: "/").last else { continue }
                    try bench.exchange(one, other)
                }
            }
        },
        Attack("exchange names of links, special files or files of more than 13 links", .unbound) { bench in
            for folder in bench.scene.folders {
                let entries = bench.entries(of: folder)
                for one in entries where bench.isUnbound(one) {
                    for other in entries where one != other && !bench.areOneFile(one, other) {
                        try bench.exchange(one, other)
                    }
                }
            }
        },
        Attack("move to another name", Documented(.missing, "*A deleted file, directory or attribute*")) { bench in
            for folder in bench.scene.folders {
                let entries = bench.entries(of: folder).filter { !bench.isUnbound($0) }
                for one in entries {
                    for other in entries where one != other && !bench.areOneFile(one, other) {
                        try bench.attempt(
                            "/\(one) moved to /\(other)", lookingAt: bench.below(one) + bench.below(other)
                        ) {
                            $0.move(bench.scene.backing(one), to: bench.scene.backing(other))
                        }
                    }
                }
            }
        },
        Attack("copy to another name") { bench in
            for folder in bench.scene.folders {
                let entries = bench.entries(of: folder).filter { !bench.isUnbound($0) }
                for one in entries {
                    for other in entries where one != other && !bench.areOneFile(one, other) {
                        try bench.attempt(
                            "/\(one) copied to /\(other)", lookingAt: bench.below(one) + bench.below(other)
                        ) {
                            $0.copy(bench.scene.backing(one), to: bench.scene.backing(other))
                        }
                    }
                }
            }
        },
        Attack("move to another directory", Documented(.missing, "*A deleted file, directory or attribute*")) { bench in
            for path in bench.scene.files + bench.scene.folders where path.contains("/") {
                for folder in bench.scene.folders where !path.hasPrefix(folder + "/") && folder != path && folder != ""
                {
                    try bench.migrate(path, to: folder, isKept: false)
                }
            }
        },
        Attack("copy to another directory") { bench in
            for path in bench.scene.files + bench.scene.folders where path.contains("/") {
                for folder in bench.scene.folders where !path.hasPrefix(folder + "/") && folder != path && folder != ""
                {
                    try bench.migrate(path, to: folder, isKept: true)
                }
            }
        },
        Attack("change a character of a name", Documented(.missing, "*A deleted file, directory or attribute*")) {
            bench in
            for path in bench.scene.files + bench.scene.folders + bench.scene.links where path != "" {
                let stored = bench.scene.backing(path)
                let start = stored.lastIndex(of: "/").map { stored.index(after: $0) } ?? stored.startIndex
                for index in stored[start...].indices {
                    var changed = stored
                    changed.replaceSubrange(index...index, with: stored[index] == "A" ? "B" : "A")
                    try bench.attempt("/\(path), as \(changed)", lookingAt: bench.below(path)) {
                        $0.move(stored, to: changed)
                    }
                }
            }
        },
        Attack("change a sidecar", Documented(.missing, "*The sidecar of a long name changed or removed.*")) { bench in
            for path in bench.scene.files + bench.scene.folders {
                let sidecar = bench.scene.backing(path) + ".name"
                let bytes = bench.scene.current.bytes(sidecar)
                guard !bytes.isEmpty else { continue }
                for offset in bytes.indices {
                    for mask in [1, 0x80] as [UInt8] {
                        try bench.attempt("/\(path), byte \(offset) of its sidecar", lookingAt: bench.below(path)) {
                            $0.edit(sidecar) { $0[offset] ^= mask }
                        }
                    }
                    try bench.attempt("/\(path), sidecar truncated to \(offset)", lookingAt: bench.below(path)) {
                        $0.edit(sidecar) { $0.removeSubrange(offset...) }
                    }
                }
                for node in [
                    .file(bytes + [0]), .file([UInt8](of: path, version: 1, count: 9999)), .fifo, .folder(),
                    .link([65]),
                ]
                    as [BackingImage.Node]
                {
                    try bench.attempt("/\(path), sidecar planted", lookingAt: bench.below(path)) {
                        $0.replace(sidecar, by: node)
                    }
                }
                try bench.attempt("/\(path), sidecar removed", lookingAt: bench.below(path)) { $0.remove(sidecar) }
                for other in bench.scene.files + bench.scene.folders where other != path {
                    let theirs = bench.scene.current.bytes(bench.scene.backing(other) + ".name")
                    guard !theirs.isEmpty else { continue }
                    try bench.attempt("/\(path), sidecar of /\(other)", lookingAt: bench.below(path)) {
                        $0.edit(sidecar) { $0 = theirs }
                    }
                }
            }
        },
        Attack("plant foreign names") { bench in
            for folder in bench.scene.folders {
                let prefix = folder.isEmpty ? "" : bench.scene.backing(folder) + "/"
                for name in [
                    ".stfolder", "conflict (1)", "lk.tmp.planted", "lk.long.planted", "lk.long.planted.name", "lk.what",
                    "AAAA",
                    String(repeating: "A", count: 32), String(repeating: "A", count: 255),
                ] {
                    for node in [.file([1, 2, 3]), .folder(), .link([65]), .fifo] as [BackingImage.Node] {
                        try bench.attempt("\(name) in /\(folder)", lookingAt: bench.below(folder)) {
                            $0.replace(prefix + name, by: node)
                        }
                    }
                }
            }
        },
    ]
}

extension Documented {
    static let unbound = Documented([.other, .missing], "*Substitution by symbolic links and special files.*")
}

extension Bench {
    func entries(of folder: String) -> [String] {
        scene.knowledge.paths.filter { path in
            let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
            return path != "" && parent == folder && scene.written[path] != .missing
        }
    }

    /// Whether nothing binds the entry to its name.
    fileprivate func isUnbound(_ path: String) -> Bool {
        switch scene.written[path]! {
        case .link, .special: true
        default: path.hasPrefix("links/")
        }
    }

    fileprivate func areOneFile(_ one: String, _ other: String) -> Bool {
        scene.current.names[scene.backing(one)] == scene.current.names[scene.backing(other)]
    }

    fileprivate func exchange(_ one: String, _ other: String) throws {
        try attempt("/\(one) and /\(other) exchanged", lookingAt: below(one) + below(other)) {
            $0.exchange(scene.backing(one), scene.backing(other))
        }
    }

    fileprivate func migrate(_ path: String, to folder: String, isKept: Bool) throws {
        let stored = scene.backing(path)
        let last = stored.split(separator: "/").last!
        try attempt("/\(path) in /\(folder)", lookingAt: below(path) + below(folder)) {
            if isKept {
                $0.copy(stored, to: scene.backing(folder) + "/" + last)
            } else {
                $0.move(stored, to: scene.backing(folder) + "/" + last)
            }
        }
    }
}
