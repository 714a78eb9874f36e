extension Attack {
    /// Targets of symbolic links, and extended attributes.
    static let metadata = [
        Attack("change a character of a link's target") { bench in
            for path in bench.scene.links {
                let stored = bench.scene.backing(path)
                let text = bench.scene.current.target(stored)
                for offset in text.indices {
                    for character in Array("A_z9./".utf8) where character != text[offset] {
                        try bench.attempt("/\(path), character \(offset)", lookingAt: [path]) {
                            var changed = text
                            changed[offset] = character
                            $0.replace(stored, by: .link(changed))
                        }
                    }
                }
                for size in 1..<text.count {
                    try bench.attempt("/\(path) truncated to \(size)", lookingAt: [path]) {
                        $0.replace(stored, by: .link(Array(text[..<size])))
                    }
                }
                for foreign in [text + [65], text + text, Array("/etc/passwd".utf8), Array("..".utf8)] {
                    try bench.attempt("/\(path), a planted target", lookingAt: [path]) {
                        $0.replace(stored, by: .link(foreign))
                    }
                }
                for directory in bench.scene.folders.prefix(3) {
                    let record = directory.isEmpty ? "lk.dir" : bench.scene.backing(directory) + "/lk.dir"
                    try bench.attempt("/\(path), the record of /\(directory)", lookingAt: [path]) {
                        $0.replace(stored, by: .link(bench.scene.current.target(record)))
                    }
                }
            }
        },
        Attack("put a link's older target, or another's, there", .links) { bench in
            for path in bench.scene.links {
                let stored = bench.scene.backing(path)
                let others = bench.scene.links.filter { $0 != path }.map {
                    bench.scene.current.target(bench.scene.backing($0))
                }
                for target in [bench.scene.old.target(stored)] + others {
                    try bench.attempt("/\(path), another target", lookingAt: [path]) {
                        $0.replace(stored, by: .link(target))
                    }
                }
            }
        },
        Attack("change an extended attribute's value") { bench in
            try bench.forEachAttribute { path, stored, name, value in
                for offset in value.indices {
                    for mask in [1, 0x80, 0xFF] as [UInt8] {
                        try bench.attempt("/\(path), byte \(offset) of an attribute", lookingAt: [path]) {
                            $0.editAttributes(stored) { $0[name]![offset] ^= mask }
                        }
                    }
                    try bench.attempt("/\(path), attribute truncated to \(offset)", lookingAt: [path]) {
                        $0.editAttributes(stored) { $0[name]!.removeSubrange(offset...) }
                    }
                }
                try bench.attempt("/\(path), longer attribute", lookingAt: [path]) {
                    $0.editAttributes(stored) { $0[name]! += [0] }
                }
                try bench.forEachAttribute { other, _, otherName, theirs in
                    guard (path, name) != (other, otherName) else { return }
                    try bench.attempt("/\(path), value of an attribute of /\(other)", lookingAt: [path]) {
                        $0.editAttributes(stored) { $0[name] = theirs }
                    }
                }
            }
        },
        Attack("plant another's extended attribute") { bench in
            try bench.forEachAttribute { other, _, name, value in
                for path in bench.scene.files + bench.scene.folders where path != "" && path != other {
                    try bench.attempt("/\(path), an attribute of /\(other)", lookingAt: [path]) {
                        $0.editAttributes(bench.scene.backing(path)) { $0[name] = value }
                    }
                }
            }
            for path in bench.scene.files + bench.scene.folders where path != "" {
                for name in ["user.lk.", "user.lk.AAAA", "user.foreign", "user.latchkey.class"] {
                    try bench.attempt("/\(path), \(name)", lookingAt: [path]) {
                        $0.editAttributes(bench.scene.backing(path)) { $0[name] = Array("none".utf8) }
                    }
                }
            }
        },
        Attack(
            "remove an extended attribute, or change its name",
            Documented(.missing, "*A deleted file, directory or attribute*")
        ) {
            bench in
            try bench.forEachAttribute { path, stored, name, value in
                try bench.attempt("/\(path), attribute removed", lookingAt: [path]) {
                    $0.editAttributes(stored) { $0[name] = nil }
                }
                for index in name.indices.dropFirst(8) {
                    var changed = name
                    changed.replaceSubrange(index...index, with: name[index] == "A" ? "B" : "A")
                    try bench.attempt("/\(path), attribute \(changed)", lookingAt: [path]) {
                        $0.editAttributes(stored) { attributes in
                            attributes[name] = nil
                            attributes[changed] = value
                        }
                    }
                }
            }
        },
        Attack("put an older extended attribute back", Documented(.other, "or of one extended attribute")) { bench in
            try bench.forEachAttribute { path, stored, name, _ in
                guard let older = bench.scene.old.attributes(stored)[name] else { return }
                try bench.attempt("/\(path), older attribute", lookingAt: [path]) {
                    $0.editAttributes(stored) { $0[name] = older }
                }
            }
        },
    ]
}

extension Bench {
    /// Path, backing path, stored name and stored value.
    fileprivate func forEachAttribute(_ body: (String, String, String, [UInt8]) throws -> Void) throws {
        for path in scene.files + scene.folders where path != "" {
            let stored = scene.backing(path)
            for (name, value) in scene.current.attributes(stored).sorted(by: { $0.key < $1.key })
            where name.hasPrefix("user.lk.") {
                try body(path, stored, name, value)
            }
        }
    }
}
