import Administration
import Posix

extension CommandError {
    /// A failed system call, in words: "cannot DO PATH: why".
    init(cannot doing: Printable, _ path: Path, _ error: Errno) {
        switch error {
        case .ENOKEY:
            self.init(.locked, "cannot \(doing) \(path): it is locked", try: "latchkey unlock \(path.quoted)")
        case .ENOTCONN:
            if let mount = Self.mount(holding: path), !mount.isLatchkey {
                self.init(
                    .failed,
                    "cannot \(doing) \(path): the file system below it, \(StoreKind(mount).engine) on "
                        + "\(mount.mountPoint), is not connected: its program has ended, or its servers are away",
                    advice: MachineAdvice.forFileSystem(of: path, error))
            } else {
                self.init(
                    .notFound, "cannot \(doing) \(path): the daemon of this mount has ended",
                    try: "latchkey unmount \(path.quoted)", "latchkey mount VAULT \(path.quoted)")
            }
        case .EIO:
            let mount = Self.mount(holding: path)
            if let mount, !mount.isLatchkey {
                self.init(
                    .damaged, "cannot \(doing) \(path): the disk or file system below it fails: \(error)",
                    advice: MachineAdvice.forFileSystem(of: path, error))
            } else {
                let (point, vault): (Printable, Printable) =
                    mount.map { ($0.mountPoint.quoted, $0.source.quoted) } ?? ("DIR", "VAULT")
                self.init(
                    .damaged, "cannot \(doing) \(path): it is damaged, or was tampered with",
                    try: "latchkey unmount \(point)", "latchkey fsck --unlock \(vault)")
            }
        case .EROFS:
            self.init(
                .failed, "cannot \(doing) \(path): \(error)",
                advice: MachineAdvice.forFileSystem(of: path, error))
        default:
            self.init(.failed, "cannot \(doing) \(path): \(error)")
        }
    }

    /// The mount that holds a path, also where the file system does not answer.
    private static func mount(holding path: Path) -> MountTable.Entry? {
        let place = (try? AbsolutePath(ofPerhapsMissing: path)) ?? AbsolutePath(lexically: path)
        return (try? MountTable())?.mount(holding: place.path)
    }
}
