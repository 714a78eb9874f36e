import Administration
import ArgumentParser
import Control
import DeviceKeys
import Failure
import Format
import Glibc
import Keybag
import Posix
import Store
import Vault

/// `latchkey erase`: makes a vault unreadable permanently.
struct Erase: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a vault unreadable for good, at once.",
        discussion: """
            Destroys the device key, the keybag with all its slots, and, if the vault is mounted, the keys in memory: \
            the daemon ends, even while programs use its files. Without --files the files stay, as ciphertext that no \
            key opens. No passcode is needed. An older copy of the keybag still opens with a recovery key or an escrow \
            key, and on a machine that still has the device key. In the vault, lk.erased says when this was done. \
            --device-key finishes an erasure that has destroyed the keybag and not the device key.

            Copies of the vault on this machine share its device key, and lose it: they open only with a recovery key or \
            an escrow key. --keep-device-key destroys the keybag of this one alone.
            """ + Examples.of("latchkey erase ~/vault", "latchkey erase --keep-device-key --files ~/copy"))

    @Flag(help: "Do not ask for the vault's name.")
    var yes = false

    @Flag(help: "Remove the files of the vault as well, after the keys.")
    var files = false

    @Flag(
        help: """
            Destroy only the keybag of this folder, for a copy of a vault that you keep. An older copy of this keybag \
            opens with the passcode as before.
            """)
    var keepDeviceKey = false

    @Flag(
        help: """
            Destroy the device key even if a copy of the vault is mounted, or has a name in the configuration, and \
            needs it too.
            """)
    var copies = false

    @Option(help: ArgumentHelp("Path of the device key, for a vault that is not mounted.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
    var argument: Path

    func validate() throws {
        if keepDeviceKey, copies || deviceKey != nil {
            throw ValidationError("--keep-device-key destroys no device key: it excludes --copies and --device-key.")
        }
    }

    func run() throws {
        let word = try VaultWord(argument, destroys: true)
        if try finishErasing(word) { return }
        let found: PathArgument
        do throws(CommandError) { found = try PathArgument.of(argument, destroys: true) } catch {
            throw advising(error, word)
        }
        try checkIsWhole(found, word)
        switch found {
        case .mount(let mount):
            let vault = AbsolutePath(known: mount.status.vault)
            let volume = VolumeIdentifier(status: mount.status)
            try refuseIfShared(vault, volume, mount.status.deviceKeyFile)
            let removed = files ? try Self.folder(vault, of: mount.owner) : nil
            try confirm(mount.status.vault)
            let links = Self.links(ofKeybagIn: vault)
            var fate: KeyDestruction.DeviceKeyFate?
            do throws(Failure) {
                if keepDeviceKey {
                    try mount.client.eraseKeybag()
                } else {
                    fate = KeyDestruction.DeviceKeyFate(rawValue: try mount.client.erase())
                }
            } catch {
                guard case .erased(_, let reason?) = error else {
                    throw CommandError(error, at: mount.status.mountPoint)
                }
                throw CommandError(
                    .failed,
                    "not all of the keys of \(mount.status.vault) could be destroyed, and its daemon has ended: "
                        + "\(Printable(line: reason))",
                    try: Self.again(
                        vault, mount.status.deviceKeyFile ?? volume.map { DeviceKeyFile.defaultPath(for: $0) }))
            }
            _ = Process.waitUntilEnded(pid_t(clamping: mount.status.pid))
            try end(vault, fate, links: links, removed)
        case .vault(let vault):
            let folder = try withKeybag(of: vault.path) { () throws(Failure) in try VaultFolder(vault, .ofErase) }
            defer { withExtendedLifetime(folder) {} }
            // A keybag that cannot be read does not say whose device key it needs.
            let volume = (try? OpenKeybag.inspect(folder.store))?.volume
            let typed = deviceKey?.path ?? word.named?.keyPath
            if let deviceKey = typed {
                try withKeybag(of: vault.path) { () throws(Failure) in
                    try KeyDestruction.check(deviceKeyPath: deviceKey, volume: volume)
                }
            }
            let path = keepDeviceKey ? nil : typed ?? volume.map { DeviceKeyFile.defaultPath(for: $0) }
            try refuseIfShared(vault, volume, path)
            let removed = files ? try Self.folder(vault, of: nil) : nil
            try confirm(vault.path)
            let links = Self.links(ofKeybagIn: vault)
            // Read now: what is destroyed does not say which counter belongs to it.
            let removeCounter = path.flatMap { DeviceKeyLocation.counterRemoval(at: $0) }
            let destruction = KeyDestruction(
                deviceKeyPath: path, keptDeviceKeyPath: typed ?? volume.map { DeviceKeyFile.defaultPath(for: $0) },
                volume: volume, keybagIn: folder.store)
            // Last: a TPM may not answer.
            defer { if destruction.deviceKey == .destroyed { removeCounter?() } }
            try check(destruction, of: vault, path)
            try end(vault, destruction.deviceKey, path, links: links, removed)
        case .orphan(let entry):
            throw SilentMount(entry).error
        }
    }

    /// Throws if not all could be destroyed.
    private func check(
        _ destruction: KeyDestruction, of vault: AbsolutePath, _ deviceKey: Path?
    ) throws(CommandError) {
        guard let reason = destruction.reason else { return }
        throw CommandError(
            .failed, "not all of the keys of \(vault.path) could be destroyed: \(reason)",
            try: Self.again(vault, deviceKey))
    }

    /// The command that destroys the rest: without its keybag, a vault does not say which device key is its own.
    private static func again(_ vault: AbsolutePath, _ deviceKey: Path?) -> Printable {
        guard let deviceKey, deviceKey.access(F_OK) == 0 else { return "latchkey erase \(vault.path.quoted)" }
        return "latchkey erase --device-key \(deviceKey.quoted) \(vault.path.quoted)"
    }

    /// Destroys the device key that an interrupted erase has left. False if the vault has a keybag, or no device key is
    /// named.
    private func finishErasing(_ word: VaultWord) throws(CommandError) -> Bool {
        guard !keepDeviceKey, let path = deviceKey?.path ?? word.named?.keyPath,
            let vault = try? AbsolutePath(resolving: word.vaultPath), vault.lostKeybag(as: vault.path) != nil,
            try inWords(try MountTable()).mount(holding: vault.path)?.isLatchkey != true
        else { return false }
        let folder = try withKeybag(of: vault.path) { () throws(Failure) in try VaultFolder(vault, .ofErase) }
        defer { withExtendedLifetime(folder) {} }
        let owner = try withKeybag(of: vault.path) { () throws(Failure) in
            try KeyDestruction.owner(ofDeviceKeyAt: path)
        }
        guard let owner else { return false }
        if let volume = Self.volume(ofJournalIn: folder.store), volume != owner {
            throw CommandError(.deviceKeyMismatch, of: vault.path)
        }
        try refuseIfShared(vault, owner, path)
        let removed = files ? try Self.folder(vault, of: nil) : nil
        try confirm(vault.path)
        let removeCounter = DeviceKeyLocation.counterRemoval(at: path)
        let destruction = KeyDestruction(deviceKeyPath: path, volume: owner, keybagIn: folder.store)
        defer { if destruction.deviceKey == .destroyed { removeCounter?() } }
        try check(destruction, of: vault, path)
        try end(vault, destruction.deviceKey, path, links: 1, removed)
        return true
    }

    /// The error for a vault without its keybag says how the command ends an interrupted erasure.
    private func advising(_ error: CommandError, _ word: VaultWord) -> CommandError {
        guard let vault = try? AbsolutePath(resolving: word.vaultPath), vault.lostKeybag(as: vault.path) != nil,
            let store = try? DirectoryStore(path: vault.path)
        else { return error }
        let left = Self.volume(ofJournalIn: store).map { DeviceKeyFile.defaultPath(for: $0) }
        guard let left, left.access(F_OK) == 0 else { return error }
        return CommandError(
            error.code, error.message,
            advice: error.advice + ["\(Self.again(vault, left))   (destroys its device key, which is still there)"])
    }

    /// The volume ID that the journal of a vault has; nil before its first mount. No key has verified it.
    private static func volume(ofJournalIn store: any Store) -> VolumeIdentifier? {
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        let names = (try? store.entries(of: store.root).map(\.name)) ?? []
        let name = names.first { BackingName.machine(ofJournal: $0.bytes) != nil } ?? .journal
        guard let file = try? store.open(name, in: store.root, flags) else { return nil }
        var start = [UInt8](repeating: 0, count: JournalHead.byteCount)
        var elements = start.mutableSpan
        var span = unsafe elements.mutableBytes
        guard (try? store.read(file, into: &span, at: 0)) == JournalHead.byteCount else { return nil }
        return (try? unsafe JournalHead(decoding: start.span.bytes))?.volume
    }

    /// Throws for a folder inside a vault or a mount: the user may mean that folder only.
    private func checkIsWhole(_ found: PathArgument, _ word: VaultWord) throws(CommandError) {
        // A name stands for a whole vault.
        if word.named != nil { return }
        let wholes: [Path]
        switch found {
        case .mount(let mount): wholes = [mount.status.mountPoint, mount.status.vault]
        case .vault(let vault): wholes = [vault.path]
        case .orphan: return
        }
        let typed = [AbsolutePath(lexically: argument).path, (try? AbsolutePath(resolving: argument))?.path]
        guard !wholes.contains(where: typed.contains) else { return }
        throw CommandError(
            .failed, "\(argument) is a part of a vault, and the whole vault would be erased; nothing was done",
            try: "latchkey erase \(wholes[0].quoted)", "rm -r \(argument.quoted)   (for the folder alone)")
    }

    /// Throws if a copy of the vault that is in use would lose its device key, unless that is wanted.
    private func refuseIfShared(
        _ vault: AbsolutePath, _ volume: VolumeIdentifier?, _ deviceKey: Path?
    ) throws(CommandError) {
        guard !keepDeviceKey, !copies, let volume else { return }
        let path = deviceKey ?? DeviceKeyFile.defaultPath(for: volume)
        let copies = try SharedDeviceKey.copies(
            of: vault, volume, deviceKey: path, advice: "the same with --copies   (whether one does or not)")
        guard let copy = copies.first else { return }
        throw CommandError(
            .failed,
            "the vault \(copy.vault) \(copy.use), is a copy of the same vault, and would lose its device key, too; "
                + "nothing was done",
            try: "latchkey erase --keep-device-key \(argument.quoted)   (only this copy's keybag)",
            "latchkey erase --copies \(argument.quoted)   (all copies: they open only with the recovery key then)")
    }

    /// Opens the folder whose files are to be removed, before the user is asked.
    ///
    /// Root learns the path from a daemon of another user, who may name any folder. So no part of it may be a symbolic
    /// link, and the folder must be a vault's and that user's.
    ///
    /// - Parameter owner: nil if the path is what the user has typed.
    static func folder(_ vault: AbsolutePath, of owner: UInt32?) throws(CommandError) -> Descriptor {
        do throws(Errno) {
            var folder = try Descriptor.open(path: "/", O_RDONLY | O_DIRECTORY)
            for component in vault.path.components {
                guard let name = Name(bytes: component) else { throw .EINVAL }
                folder = try folder.open(name, O_RDONLY | O_DIRECTORY)
            }
            if let owner, owner != geteuid() {
                guard try folder.status().owner == owner else { throw .EPERM }
            }
            let rootFiles: [Name] = ["lk.keybag", "lk.keybag.old", "lk.journal", "lk.lock"]
            guard try folder.entries().contains(where: { rootFiles.contains($0.name) }) else { throw .EPERM }
            return folder
        } catch {
            throw CommandError(cannot: "remove the files of", vault.path, error)
        }
    }

    /// The number of names that the keybag has.
    private static func links(ofKeybagIn vault: AbsolutePath) -> Int {
        let keybag = vault.path.asFolder + BackingName.keybag
        return Int((try? Descriptor.open(path: keybag, O_PATH | O_NOFOLLOW).status().linkCount) ?? 1)
    }

    /// Asks the user to type the vault's name.
    private func confirm(_ vault: Path) throws(CommandError) {
        if yes { return }
        let name = vault.trimmingTrailingSlashes.split.last
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage, "there is no terminal to ask at whether \(vault) is to be erased; nothing was done",
                try: "latchkey erase --yes \(argument.quoted)")
        }
        let copies: Printable =
            keepDeviceKey ? "" : " Copies of it on this machine lose their device key: only a recovery key opens them."
        Standard.error("All that is in the vault \(vault) will be lost.\(copies) Type its name, \(name), to erase it:")
        // A name with characters that cannot be typed may be typed as it is shown.
        guard let typed = readLine(), Path(typed) == name || typed == name.printable.text else {
            throw CommandError(.failed, "that is not its name; nothing was done")
        }
    }

    /// - Parameters:
    ///   - deviceKey: what became of it; nil if its location is unknown, or if it is kept.
    ///   - path: where it was looked for.
    ///   - links: how many names the keybag had.
    ///   - removed: the folder whose files are to be removed.
    private func end(
        _ vault: AbsolutePath, _ deviceKey: KeyDestruction.DeviceKeyFate?, _ path: Path? = nil, links: Int,
        _ removed: Descriptor?
    ) throws(CommandError) {
        if keepDeviceKey {
            Standard.output(
                """
                The keybag of the vault \(vault.path) is destroyed: it opens no more. The device key is kept.
                An older copy of this keybag, and each copy of the vault, opens with the passcode as before.
                """)
        } else if deviceKey == .destroyed {
            Standard.output(
                """
                The vault \(vault.path) is erased: nothing opens it any more.
                Copies of it on this machine have lost their device key: a recovery key or an escrow key opens them.
                """)
        } else {
            Standard.output("The keybag of the vault \(vault.path) is destroyed: it opens no more.")
            let text: Printable =
                switch (deviceKey, path) {
                case (.foreign, let path?): "\(path) is not its device key, and stays as it was."
                case (_, let path?): "Its device key is not at \(path)."
                case (.missing, nil): "Its device key is not where it was."
                case (.foreign, nil): "What lies in the place of its device key is another one, and stays."
                default: "The location of its device key is not known."
                }
            Standard.output(
                "\(text) That key and the passcode open an older copy of the vault: destroy it, too.")
        }
        if links > 1 {
            Standard.output("Its keybag had other names (hard links). They stay as they were: destroy them, too.")
        }
        guard let removed else { return }
        do throws(Errno) {
            try removed.removeContents(movingUpAs: BackingName.removedPrefix)
        } catch { throw CommandError(cannot: "remove the files of", vault.path, error) }
        Standard.output("Its files are removed.")
    }
}
