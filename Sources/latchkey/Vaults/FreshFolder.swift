import Glibc
import Posix

/// The folder that is to become a vault: empty, and taken away again if nothing comes of it and it was not there before.
struct FreshFolder {
    let path: AbsolutePath
    private let isMissing: Bool

    /// Refuses a folder that holds anything; changes nothing yet.
    init(_ typed: String) throws(CommandError) {
        path = try AbsolutePath(ofPerhapsMissing: typed)
        if let mount = try MountTable().mount(holding: path.text), mount.isLatchkey {
            throw CommandError(.failed, "\(typed) lies in the mount of another vault, \(mount.mountPoint)")
        }
        if path.isVault {
            throw CommandError(.failed, "\(typed) is a vault already", try: "latchkey mount \(typed.quoted) DIR")
        }
        let entries: [DirectoryEntry]
        do {
            entries = try Descriptor.open(path: path.text, O_RDONLY | O_DIRECTORY).entries()
            isMissing = false
        } catch {
            switch error {
            case .ENOENT: (entries, isMissing) = ([], true)
            case .ENOTDIR: throw CommandError(.failed, "\(typed) is not a folder")
            default: throw CommandError(cannot: "look into", typed, error)
            }
        }
        guard entries.isEmpty else {
            throw CommandError(
                .failed, "\(typed) is not empty: a vault begins in a folder of its own",
                try: "latchkey init \((typed.trimmingTrailingSlashes + "/vault").quoted)")
        }
    }

    /// Makes the folder, 0700, if it is missing.
    func make() throws(CommandError) {
        guard isMissing, unsafe mkdir(path.text, 0o700) != 0 else { return }
        throw CommandError(cannot: "make the folder", path.text, Errno.current)
    }

    /// Takes away what `make` made.
    func remove() {
        if isMissing { _ = unsafe rmdir(path.text) }
    }
}
