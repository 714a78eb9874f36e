/// The requests of the kernel that are served; all others are answered with ENOSYS.
///
/// Source: linux/fuse.h, enum fuse_opcode.
enum Opcode: UInt32, Sendable {
    case lookup = 1
    case forget = 2
    case getattr = 3
    case setattr = 4
    case readlink = 5
    case symlink = 6
    case mknod = 8
    case mkdir = 9
    case unlink = 10
    case rmdir = 11
    case rename = 12
    case link = 13
    case open = 14
    case read = 15
    case write = 16
    case statfs = 17
    case release = 18
    case fsync = 20
    case setxattr = 21
    case getxattr = 22
    case listxattr = 23
    case removexattr = 24
    case flush = 25
    case initialize = 26
    case opendir = 27
    case readdir = 28
    case releasedir = 29
    case fsyncdir = 30
    case getlk = 31
    case setlk = 32
    case setlkw = 33
    case access = 34
    case create = 35
    case interrupt = 36
    case destroy = 38
    case notifyReply = 41
    case batchForget = 42
    case fallocate = 43
    case readdirplus = 44
    case rename2 = 45
    case lseek = 46
    case copyFileRange = 47
    case tmpfile = 51
    case statx = 52

    /// Whether a program has caused it. The kernel sends the others for itself; monitoring programs send statfs all the
    /// time.
    var isUse: Bool {
        switch self {
        case .forget, .statfs, .release, .initialize, .releasedir, .interrupt, .destroy, .notifyReply, .batchForget:
            false
        default: true
        }
    }

    /// Whether its node is a regular file.
    var isOfFile: Bool {
        switch self {
        case .open, .read, .write, .flush, .fsync, .fallocate, .lseek, .getlk, .setlk, .setlkw: true
        default: false
        }
    }

    /// Whether it changes something whatever its arguments are.
    var isChange: Bool {
        switch self {
        case .setattr, .symlink, .mknod, .mkdir, .unlink, .rmdir, .rename, .rename2, .link, .write, .setxattr,
            .removexattr, .create, .tmpfile, .fallocate, .copyFileRange:
            true
        default: false
        }
    }

    /// Whether a request with `allow_root` may come from each user: it uses what was opened before, or the kernel sends
    /// it for itself. Source: libfuse, fuse_session_process_buf.
    var isOfEachUser: Bool {
        switch self {
        case .initialize, .read, .write, .fsync, .release, .readdir, .readdirplus, .fsyncdir, .releasedir,
            .notifyReply, .forget, .batchForget, .interrupt, .destroy, .flush, .lseek, .getlk, .setlk, .setlkw:
            true
        default: false
        }
    }
}
