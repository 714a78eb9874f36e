import ArgumentParser
import Glibc
import Posix

/// This program as umount(8) calls it: `umount.latchkey DIR [-flnrv] [-N namespace] [-t type]`, by that name or as
/// `umount.fuse.latchkey`. It returns when the daemon has written what is dirty, and names who keeps a mount busy.
///
/// umount(8) calls no helper if root unmounts an absolute path without an option.
///
/// Source: umount(8), "External helpers".
struct UnmountHelper {
    private var folder = Path("")
    private var namespace: String?
    private var isLazy = false
    private var isForced = false
    /// Remounts read-only what cannot be unmounted.
    private var remounts = false

    /// - Parameter arguments: with the program's name.
    init(_ arguments: [String]) throws {
        var folders: [String] = []
        var rest = arguments.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "-N": namespace = rest.popFirst()
            case "-t": _ = rest.popFirst()
            case _ where word.hasPrefix("-") && word.count > 1:
                for letter in word.dropFirst() { try take(letter) }
            default: folders.append(word)
            }
        }
        guard folders.count == 1 else { throw Self.usage("it takes a folder") }
        folder = Path(argument: folders[0])
    }

    private mutating func take(_ letter: Character) throws {
        switch letter {
        case "l": isLazy = true
        case "f": isForced = true
        case "r": remounts = true
        case "n", "v": break
        default: throw Self.usage("-\(Path(argument: String(letter))) is no option of umount(8)'s helpers")
        }
    }

    private static func usage(_ reason: Printable) -> HelperError {
        HelperError(.usage, "\(reason): umount.latchkey DIR [-flnrv] [-N NAMESPACE] [-t TYPE]")
    }

    func run() throws {
        if let namespace { try MountNamespace.enter(namespace) }
        ServingUser.completeEnvironment()
        if isForced { return try force() }
        let words = ["unmount"] + (isLazy ? ["--lazy"] : []) + ["--", ArgumentWords.text(folder.bytes)]
        var command = try Latchkey.parseAsRoot(words)
        do { try command.run() } catch {
            guard remounts else { throw error }
            Standard.error("latchkey: \(folder) cannot be unmounted, and becomes read-only")
            try Remount(try HelperOptions(["remount,ro"]), folder: folder).run()
        }
    }

    /// Ends every request with an error, for a mount that does not answer.
    private func force() throws {
        guard folder.unmount(Int32(MNT_FORCE) | (isLazy ? Int32(MNT_DETACH) : 0)) != 0 else { return }
        let error = Errno.current
        throw HelperError(error == .EPERM ? .usage : .failure, "cannot unmount \(folder): \(error)")
    }
}
