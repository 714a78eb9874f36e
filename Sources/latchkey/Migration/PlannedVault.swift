import Administration
import DeviceKeys
import Failure
import Format
import Glibc
import Keybag
import LockSources
import Posix
import Store
import VaultNames

/// Where the vault of a protected folder lies in the end, and under which name.
struct PlannedVault {
    let name: String
    let path: Path

    init(_ record: MigrationRecord) { (name, path) = (record.name, record.vault) }

    /// Among the user's vaults; beside the folder, if that is in another file system, since the vault is moved by a
    /// rename.
    init(for target: MigratedFolder, _ wanted: String?) throws(CommandError) {
        guard let point = target.path.path.text, target.parent.text != nil else {
            throw CommandError(
                .failed,
                "the path \(target.path.path) is not UTF-8, and the configuration is text: its vault gets no name",
                try: "mv it to another name, and the same again")
        }
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch { throw CommandError(error) }
        if let wanted { name = wanted } else { name = Self.name(of: target, besides: vaults) }
        guard let checked = VaultName(name) else {
            let problem = VaultName.problem(with: name) ?? ""
            throw CommandError(
                .usage, "\(name) is no name for a vault: a name \(problem)", try: "the same with --name NAME")
        }
        path = Self.place(of: name, for: target)
        guard path.access(F_OK) != 0 else {
            throw CommandError(.failed, "\(path) is there already; nothing was done", try: "the same with --name NAME")
        }
        guard vaults[name] == nil else {
            throw CommandError(
                .failed, "the name \(name) is taken by another vault; nothing was done",
                try: "the same with --name NAME")
        }
        do throws(NamedVaultsError) {
            try vaults.check(NamedVault(checked, folder: path.text ?? "", mountPoint: point))
        } catch { throw CommandError(.failed, "\(error)") }
    }

    private static func place(of name: String, for target: MigratedFolder) -> Path {
        let usual = Path("\(UserFolders().data)/vaults/\(name)")
        let isNear = device(ofNearest: usual) == device(ofNearest: target.parent)
        return isNear ? usual : target.parent.asFolder + ".\(name).vault"
    }

    /// The folder's name in lower case and ASCII, since it becomes part of a unit's name; if it has no such letters,
    /// the word of a folder of the desktop. With a number, if it is taken.
    private static func name(of target: MigratedFolder, besides vaults: NamedVaults) -> String {
        let plain = plain(Path(bytes: target.name.bytes).text ?? "")
        let base = !plain.isEmpty ? plain : KnownFolder.word(of: target.path.path) ?? "folder"
        let numbered = (2...99).map { "\(base)-\($0)" }
        let free = ([base] + numbered).first { vaults[$0] == nil && place(of: $0, for: target).access(F_OK) != 0 }
        return free ?? base
    }

    private static func plain(_ text: String) -> String {
        let letters = text.unicodeScalars.filter { $0.properties.generalCategory != .nonspacingMark }
        let words = String(letters.map(plain)).split(separator: "-").joined(separator: "-")
        return String(words.prefix(VaultName.longest - 3))
    }

    /// A letter without its accent, a digit, or a minus.
    private static func plain(_ scalar: Unicode.Scalar) -> Character {
        let properties = scalar.properties
        if scalar.isASCII {
            return properties.isAlphabetic || properties.numericType != nil
                ? Character(properties.lowercaseMapping) : "-"
        }
        // Such as LATIN SMALL LETTER O WITH DIAERESIS.
        let words = properties.name?.split(separator: " ") ?? []
        guard words.count > 4, words[0] == "LATIN", words[2] == "LETTER", words[3].count == 1 else { return "-" }
        return Character(words[3].lowercased())
    }

    private static func device(ofNearest path: Path) -> UInt64? {
        var path = path
        while true {
            var status = stat()
            if path.status(&status) == 0 { return UInt64(status.st_dev) }
            guard path != "/" else { return nil }
            path = path.split.folder
        }
    }

    /// Moves the vault here, unless it is here already.
    func take(_ vault: Path) throws(CommandError) {
        guard vault.access(F_OK) == 0 else { return }
        if let parent = AbsolutePath(known: path).parent { try makeFolders(parent.path, "make the folder") }
        do throws(Errno) {
            guard path.access(F_OK) != 0 else { throw Errno.EEXIST }
            // To be moved to another folder, a folder must itself be writable. It has the mode of the protected one.
            let folder = try Descriptor.open(path: vault, O_RDONLY | O_DIRECTORY)
            let mode = try folder.status().permissions
            if mode & 0o700 != 0o700 { try folder.setMode(mode | 0o700) }
            let isMoved = vault.rename(to: path) == 0
            let error = Errno.current
            if mode & 0o700 != 0o700 { try folder.setMode(mode) }
            guard isMoved else { throw error }
            for folder in [path.split.folder, vault.split.folder] {
                try Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
            }
        } catch { throw CommandError(cannot: "move the vault to", path, error) }
    }

    /// Writes the vault's table, unless it is there already.
    func keepName(mountPoint: Path, _ record: MigrationRecord) throws(CommandError) {
        guard let checked = VaultName(name), let folder = path.text, let point = mountPoint.text else { return }
        do throws(NamedVaultsError) {
            let vaults = try NamedVaults.load()
            if let known = vaults[name] {
                guard known.folder.utf8.elementsEqual(folder.utf8) else {
                    throw NamedVaultsError(vaults.path, line: known.line, "the name \(name) is another vault's by now")
                }
                return
            }
            var vault = NamedVault(checked, folder: folder, mountPoint: point)
            vault.deviceKey = record.deviceKey?.text
            vault.guardsMountPoint = true
            if !record.locksWithScreen { vault.lockOn = [.logout, .sleep, .shutdown, .securityKey, .usb] }
            try NamedVaults.append(vault)
        } catch { throw CommandError(.failed, "the vault in \(path) has no name: \(error)") }
    }

    /// Whether no file is in the vault, not even one whose name cannot be read. What a crash has left of folders that
    /// were never durable counts for nothing.
    static func isEmpty(_ vault: Path) throws(CommandError) -> Bool {
        do throws(Errno) {
            return try Descriptor.open(path: vault, O_RDONLY | O_DIRECTORY).entries().allSatisfy { entry in
                if entry.name.bytes.starts(with: Array(BackingName.lostPrefix.utf8)) { return true }
                return switch BackingName(entry.name.bytes) {
                case .reserved, .temporary, .sidecar: true
                case .entry, .longEntry, .foreign: false
                }
            }
        } catch {
            if error == .ENOENT { return true }
            throw CommandError(cannot: "look into", vault, error)
        }
    }

    /// Destroys the keys of a vault that holds nothing any more, and removes its files.
    ///
    /// - Returns: a copy of the vault that needs the device key, which is kept then; nil if there is none.
    @discardableResult
    static func destroy(_ vault: Path, deviceKey: Path?) throws(CommandError) -> SharedDeviceKey? {
        guard vault.access(F_OK) == 0 else { return nil }
        // So that no other process puts anything into it meanwhile.
        let held = try inWords(try VaultFolder(AbsolutePath(known: vault), .ofCommand))
        defer { withExtendedLifetime(held) {} }
        guard try isEmpty(vault) else {
            throw CommandError(
                .failed, "the vault \(vault) is not empty: it was not removed", try: "ls -la \(vault.quoted)")
        }
        let store: DirectoryStore
        do throws(Errno) { store = try DirectoryStore(path: vault) } catch {
            throw CommandError(cannot: "remove", vault, error)
        }
        // An interrupted run has destroyed the keybag, and may have left the device key.
        let owner = deviceKey.flatMap { try? KeyDestruction.owner(ofDeviceKeyAt: $0) }
        let volume = (try? OpenKeybag.inspect(store))?.volume ?? owner
        let path = deviceKey ?? volume.map { DeviceKeyFile.defaultPath(for: $0) }
        let copy = try copyThatNeeds(path, of: vault, volume)
        // Read now: what is destroyed does not say which counter belongs to it.
        let removeCounter = copy == nil ? path.flatMap { DeviceKeyLocation.counterRemoval(at: $0) } : nil
        let destruction = KeyDestruction(
            deviceKeyPath: copy == nil ? path : nil, keptDeviceKeyPath: path, volume: volume, keybagIn: store)
        // Last: a TPM may not answer.
        defer { if destruction.deviceKey == .destroyed { removeCounter?() } }
        if let failure = destruction.failure { throw CommandError(failure, of: vault) }
        do throws(Errno) {
            try store.root.removeContents(movingUpAs: "lk.removed.")
            guard vault.rmdir() == 0 else { throw Errno.current }
        } catch { throw CommandError(cannot: "remove", vault, error) }
        return copy
    }

    private static func copyThatNeeds(
        _ deviceKey: Path?, of vault: Path, _ volume: VolumeIdentifier?
    ) throws(CommandError) -> SharedDeviceKey? {
        guard let deviceKey, let volume else { return nil }
        return try SharedDeviceKey.copies(of: AbsolutePath(known: vault), volume, deviceKey: deviceKey).first
    }
}
