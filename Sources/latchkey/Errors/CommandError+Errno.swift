import Administration
import Posix

extension CommandError {
    /// A failed system call, in words: "cannot DO PATH: why".
    init(cannot doing: Printable, _ path: Path, _ error: Errno) {
        switch error {
        case .ENOKEY:
            self.init(.locked, "cannot \(doing) \(path): it is locked", try: "latchkey unlock \(path.quoted)")
        case .ENOTCONN:
            self.init(
                .notFound, "cannot \(doing) \(path): the daemon of this mount has ended",
                try: "latchkey unmount \(path.quoted)", "latchkey mount VAULT \(path.quoted)")
        case .EIO:
            let place = (try? AbsolutePath(ofPerhapsMissing: path)) ?? AbsolutePath(lexically: path)
            let mount = (try? MountTable())?.mount(holding: place.path)
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
}
