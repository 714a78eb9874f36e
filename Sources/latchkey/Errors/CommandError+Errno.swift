import Posix

extension CommandError {
    /// What a failed system call means for the person: "cannot DO PATH: why".
    init(cannot doing: String, _ path: String, _ error: Errno) {
        switch error {
        case .ENOKEY:
            self.init(.locked, "cannot \(doing) \(path): it is locked", try: "latchkey unlock \(path.quoted)")
        case .ENOTCONN:
            self.init(
                .notFound, "cannot \(doing) \(path): the daemon of this mount has ended",
                try: "latchkey unmount \(path.quoted)", "latchkey mount VAULT \(path.quoted)")
        case .EIO:
            self.init(.damaged, "cannot \(doing) \(path): it is damaged, or someone has tampered with it")
        default:
            self.init(.failed, "cannot \(doing) \(path): \(error)")
        }
    }
}

extension String {
    /// As a shell takes it for one word.
    var quoted: String {
        let plain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default:
                "/._-+,:@%=".utf8.contains(byte)
            }
        }
        if plain, !isEmpty { return self }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
