public import Posix

/// A mount as the kernel's table has it, whether its daemon answers or not.
public struct TableMount: Sendable {
    /// As in `st_dev`.
    let device: UInt64
    let mountPoint: Path
    let vault: Path
    /// Who mounted it; nil if the kernel does not say.
    let user: UInt32?

    public init(device: UInt64, mountPoint: Path, vault: Path, user: UInt32?) {
        self.device = device
        self.mountPoint = mountPoint
        self.vault = vault
        self.user = user
    }
}
