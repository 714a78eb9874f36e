import Glibc

/// What a machine needs to mount anything with FUSE.
public enum FuseDevice {
    /// What this machine lacks for mounting; nil if nothing.
    public static let missing: String? = {
        if unsafe access("/dev/fuse", F_OK) != 0 {
            return "/dev/fuse is not there: load the fuse module, or give the container the device"
        }
        if unsafe access("/dev/fuse", R_OK | W_OK) != 0 {
            return "/dev/fuse is not open to this user: chmod 0666 /dev/fuse, or run the tests as root"
        }
        return nil
    }()
}
