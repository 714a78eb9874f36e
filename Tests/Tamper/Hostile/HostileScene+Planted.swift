/// Links and other entries that lead out of the vault, in place of the vault's own files and of entries.
extension HostileScene {
    /// The names of the vault's own files.
    private var ownPlaces: [String] {
        let folder = tampering.backing("D/folder")
        return [
            "lk.keybag.new", "lk.keybag.old", "lk.keybag", "lk.lock", "lk.journal", "lk.targets", "lk.nameless",
            "lk.attributes", "lk.dir",
            "lk.dir.new", "lk.tmp.planted", "lk.lost.planted", "lost+found", "lk.lost+found",
            "lk.nameless/lk.tmp.planted", "lk.targets/lk.target.AAAAAAAAAAAAAAAAAAAAAA", folder + "/lk.dir",
            folder + "/lk.dir.new", folder + "/lk.tmp.planted", folder, tampering.backing("A"),
            tampering.backing("D/grown"), tampering.backing("A/linked"),
            tampering.backing("D/" + PlainTree.longName) + ".name",
        ]
    }

    var planted: [() -> HostileVault] {
        ownPlaces.flatMap { path in
            foreign(for: path).enumerated().map { (number, node) in
                { self.planting(node, at: path, "\(number)") }
            }
                + ["short", "empty", "long", "folder/file"].map { name in
                    {
                        var vault = self.planting(.file([]), at: path, "hard link to \(name)")
                        vault.image.remove(path)
                        vault.hardLinks[path] = name
                        // These were once overwritten and removed, because they were taken for the vault's own.
                        vault.isKnown = ["lk.keybag", "lk.journal"].contains(path) && name == "long"
                        return vault
                    }
                }
        }
    }

    private func planting(_ node: BackingImage.Node, at path: String, _ what: String) -> HostileVault {
        // If there is a journal to replay, the replay looks for the journal's files.
        var vault = HostileVault("planted at \(path): \(what)", path == "lk.journal" ? good : crashed)
        let parts = path.split(separator: "/")
        if parts.count > 1, vault.image[String(parts[0])] == nil { vault.image.add(String(parts[0]), .folder()) }
        vault.image.replace(path, by: node)
        return vault
    }
}
