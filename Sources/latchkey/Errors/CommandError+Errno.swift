import Posix

extension CommandError {
    /// A failed system call, in words: "cannot DO PATH: why".
    init(cannot doing: String, _ path: String, _ error: Errno) {
        self.init(cannot: doing, Array(path.utf8), error)
    }

    /// The same for a path that need not be UTF-8.
    init(cannot doing: String, _ path: [UInt8], _ error: Errno) {
        switch error {
        case .ENOKEY:
            self.init(.locked, "cannot \(doing) \(path): it is locked", try: "latchkey unlock \(path.quoted)")
        case .ENOTCONN:
            self.init(
                .notFound, "cannot \(doing) \(path): the daemon of this mount has ended",
                try: "latchkey unmount \(path.quoted)", "latchkey mount VAULT \(path.quoted)")
        case .EIO:
            self.init(.damaged, "cannot \(doing) \(path): it is damaged, or was tampered with")
        default:
            self.init(.failed, "cannot \(doing) \(path): \(error)")
        }
    }
}
