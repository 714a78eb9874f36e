import Administration
import Control
import Glibc
import Posix
import VaultNames

/// For the help of commands whose DIR may be left out.
let onlyMount = "(default: the mount of the working folder, or your only one)"

extension PathArgument {
    /// What a named vault is now. A mount of it elsewhere than on its own mount point counts too.
    static func of(_ vault: NamedVault) throws(CommandError) -> PathArgument {
        // First by the table of mounts, where no file is looked up: a lock must not wait for a slow disk.
        let mounts = try inWords(try MountTable())
        if let entry = mounts.mount(at: vault.point), entry.isLatchkey {
            switch served(entry) {
            case .mount(let mount) where mount.status.vault == vault.folderPath: return .mount(mount)
            case .orphan where entry.source == vault.folderPath || !entry.source.hasPrefix("/"):
                return .orphan(entry)
            default: break
            }
        }
        let folder: AbsolutePath
        do { folder = try inWords(try AbsolutePath(resolving: vault.folderPath)) } catch {
            guard vault.folderPath.access(F_OK) != 0, Errno.current != .EACCES else { throw error }
            throw CommandError(
                .notFound, "the folder of the vault \(vault.name) is not there: \(error.message)",
                try: "latchkey list", "latchkey init --name \(vault.name.text.quoted)   (for a new one)")
        }
        if let mount = try mount(ofVault: folder), mount.status.vault == folder.path {
            return .mount(mount)
        }
        // The daemon is dead, and the mount is reached through symbolic links.
        if let entry = mounts.entries.last(where: { $0.isLatchkey && $0.source == folder.path }) {
            return served(entry)
        }
        return .vault(try inWords(try AbsolutePath(ofVault: vault.folderPath)))
    }

    /// What the user means who names nothing: the mount of the working folder, else his only mount.
    private static func omitted() throws(CommandError) -> PathArgument {
        let folder = AbsolutePath(lexically: ".").path
        let table = try inWords(try MountTable())
        if let entry = table.mount(holding: folder), entry.isLatchkey { return served(entry) }
        let (served, silent) = try all()
        let user = geteuid()
        let own = served.filter { $0.owner == user }
        let ownSilent = silent.filter { table.mount(at: $0.mountPoint)?.user == user }
        let points = own.map(\.status.mountPoint) + ownSilent.map(\.mountPoint)
        guard points.count <= 1 else {
            throw CommandError(
                .usage, "\(points.count) vaults are mounted, and none of them was named; nothing was done",
                advice: points.map { "the same with \($0.quoted)" })
        }
        if let mount = own.first { return .mount(mount) }
        if let point = points.first, let entry = table.mount(at: point) { return .orphan(entry) }
        throw CommandError(
            .notFound, "no vault is mounted", try: "latchkey list", "latchkey mount VAULT DIR")
    }

    /// As `of`; without a word, what `omitted` says.
    static func of(orOnly word: Path?) throws(CommandError) -> PathArgument {
        if let word { return try of(word) }
        return try omitted()
    }

    /// As `mount(of:)`; without a word, what `omitted` says.
    static func mount(ofOrOnly word: Path?) throws(CommandError) -> ServedMount {
        if let word { return try mount(of: word) }
        switch try omitted() {
        case .mount(let mount): return mount
        case .orphan(let entry): throw SilentMount(entry).error
        case .vault: throw CommandError(.notFound, "no vault is mounted", try: "latchkey list")
        }
    }
}
