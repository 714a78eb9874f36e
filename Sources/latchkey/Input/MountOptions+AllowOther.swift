import Glibc
import Posix

extension MountOptions {
    /// Access for other users must be allowed by the machine's administrator; fusermount3's own message is less clear.
    ///
    /// Source: fuse.conf, in fusermount3(1).
    func checkAllowOther() throws(CommandError) {
        guard options.contains("allow_other"), geteuid() != 0 else { return }
        let text: [UInt8]
        do {
            text = try Descriptor.open(path: "/etc/fuse.conf", O_RDONLY).bytes(atMost: 1 << 16)
        } catch {
            // If the file cannot be read, fusermount3 decides.
            return
        }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map { $0.filter { !$0.isWhitespace } }
        guard lines.contains("user_allow_other") else {
            throw CommandError(
                .failed, "-o allow_other: this machine lets only root do that",
                try: "echo user_allow_other | sudo tee -a /etc/fuse.conf")
        }
    }
}
