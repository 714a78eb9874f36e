import Glibc

/// What tells this machine from others. Source: machine-id(5), random(4).
public enum MachineIdentity {
    /// The contents of /etc/machine-id; nil if the machine has none.
    public static var permanent: [UInt8]? { contents("/etc/machine-id") }
    /// Another one after each boot; nil if it cannot be read.
    public static var ofBoot: [UInt8]? { contents("/proc/sys/kernel/random/boot_id") }

    private static func contents(_ path: Path) -> [UInt8]? {
        let bytes = try? Descriptor.open(path: path, O_RDONLY).bytes(atMost: 4096)
        return bytes.flatMap { $0.count < 32 ? nil : $0 }
    }
}
