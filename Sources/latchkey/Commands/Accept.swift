import Administration
import ArgumentParser
import Control
import Failure
import Glibc
import Posix

/// `latchkey accept`: what is older than what this machine has seen is there on purpose.
struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Go on with files, a vault or a keybag that you have restored, and that are older.",
        discussion: """
            A machine remembers how new the files of a vault were that it has seen, and tells of older ones: a person \
            who can write to the vault may have put them back. After you have restored a file or a folder in a mount, \
            accept it: it is then newer than all that was seen, on other machines too. With --all this machine goes by \
            the whole vault as it is now, and remembers anew from there.

            It also remembers the newest keybag of a vault that it has seen, and refuses an older one, with exit \
            code 6: a person who puts it back may know a passcode that was changed since. After you have restored the \
            vault from a copy, --keybag puts the newest keybag in its place. What was changed or removed since the \
            copy stays so.

            --keybag takes what opens the vault now: a passcode, a key, or the recovery key. The vault must not be \
            mounted. To read a backup beside the vault, mount it with -o ro: nothing has to be accepted then. What was \
            made by "latchkey keybag restore" or "latchkey mount --recovery" needs no acceptance.
            """
                + Examples.of(
                    "latchkey accept ~/private/letters", "latchkey accept --all ~/private",
                    "latchkey accept --keybag ~/vault"))

    @Flag(help: "Accept the keybag of the vault that PATH is.")
    var keybag = false

    @Flag(help: "Accept everything in the vault that is mounted on PATH, or that PATH is.")
    var all = false

    @OptionGroup var credential: CredentialOptions

    @Option(help: ArgumentHelp("With --keybag: path of the device key.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("Files or folders in a mount, or one vault.", valueName: "path"))
    var paths: [Path]

    private var vault: Path { paths[0] }

    func validate() throws {
        if keybag && all { throw ValidationError("--keybag and --all exclude each other.") }
        if keybag || all, paths.count != 1 { throw ValidationError("Name one vault.") }
        if credential.isGiven, !keybag {
            throw ValidationError("What opens the vault goes with --keybag.")
        }
        if deviceKey != nil, !keybag { throw ValidationError("--device-key goes with --keybag.") }
    }

    func run() throws {
        if keybag { return try acceptKeybag() }
        if all { return try acceptAll() }
        var walk = AcceptanceWalk()
        for path in paths { walk.collect(path) }
        try walk.failures.end(of: walk.count)
        let accepted = walk.count - walk.failures.count
        guard accepted > 0 else { return }
        let what: Printable = accepted == 1 ? "\(paths[0])" : "\(accepted) files and folders"
        Standard.output("\(what): this machine goes by what is there now.")
    }

    private func acceptAll() throws {
        switch try PathArgument.of(vault) {
        case .orphan(let entry): throw SilentMount(entry).error
        case .vault:
            throw CommandError(
                .notFound, "\(vault) is not mounted", try: "latchkey mount --restored \(vault.quoted) DIR")
        case .mount(let mount):
            let word = try VaultWord(vault)
            let given = try inWords(try AbsolutePath(resolving: word.vaultPath)).path
            guard given == mount.status.mountPoint || given == mount.status.vault else {
                throw CommandError(
                    .usage, "\(vault) is only a part of what is mounted on \(mount.status.mountPoint)",
                    try: "latchkey accept \(vault.quoted)", "latchkey accept --all \(mount.status.mountPoint.quoted)")
            }
            do { try mount.client.accept(nil) } catch { throw CommandError(error, at: mount.status.mountPoint) }
            Standard.output("This machine goes by \(mount.status.vault) as it is now.")
        }
    }

    private func acceptKeybag() throws {
        let word = try VaultWord(vault, destroys: true)
        let path = try inWords(try AbsolutePath(resolving: word.vaultPath))
        let deviceKeyPath = deviceKey?.path ?? word.named?.keyPath
        let acceptance = try withKeybag(of: vault) { () throws(Failure) in
            try KeybagAcceptance(of: path, deviceKeyPath: deviceKeyPath, .ofCommand)
        }
        let kind = credential.kind(withoutPasscode: acceptance.hasNoPasscode)
        try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
            let secret = try credential.read(kind, vault: path.path, deviceKey: deviceKeyPath)
            try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                try withKeybag(of: vault) { () throws(Failure) in
                    try acceptance.run(Opener(kind, mayBeLast: mayBeLast), secret)
                }
            }
        }
        Standard.output(
            "\(vault) has the newest keybag that this machine has seen: what opened it before opens it again.")
    }
}

/// Accepts files one after another, and those in folders.
private struct AcceptanceWalk {
    /// How many files and folders were visited.
    private(set) var count = 0
    private(set) var failures = Failures()

    mutating func collect(_ path: Path) {
        do { try accept(path) } catch {
            count += 1
            failures.add(error)
        }
    }

    private mutating func accept(_ path: Path) throws(CommandError) {
        let file: Descriptor
        let device: UInt64
        do throws(Errno) {
            file = try Descriptor.open(path: path, O_PATH | O_NOFOLLOW)
            device = try file.status().device
        } catch { throw CommandError(cannot: "open", path, error) }
        guard let entry = try inWords(try MountTable()).latchkeyMount(device: device) else {
            throw CommandError(.notFound, "\(path) is not in a Latchkey mount", try: "latchkey status")
        }
        let mount = try PathArgument.mount(of: entry.mountPoint)
        var left = [path]
        while let next = left.popLast() {
            do { try visit(next, mount, &left) } catch { failures.add(error) }
        }
    }

    /// Accepts what has a path, and adds what is in a folder to `left`. What is mounted below is left out.
    private mutating func visit(_ path: Path, _ mount: ServedMount, _ left: inout [Path]) throws(CommandError) {
        let file: Descriptor
        let status: FileStatus
        do throws(Errno) {
            file = try Descriptor.open(path: path, O_PATH | O_NOFOLLOW)
            status = try file.status()
            guard status.device == mount.status.device else { return }
        } catch { throw CommandError(cannot: "accept", path, error) }
        count += 1
        do throws(Failure) { try mount.client.accept(file) } catch {
            throw CommandError(error, at: mount.status.mountPoint)
        }
        guard status.kind == .directory else { return }
        // A folder that is refused can be listed from now on.
        do throws(Errno) {
            let folder = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            left += try folder.entries().map { path.asFolder + Path(bytes: $0.name.bytes) }
        } catch { throw CommandError(cannot: "accept what is in", path, error) }
    }
}
