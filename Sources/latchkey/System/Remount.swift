import Administration
import ArgumentParser
import Control
import Glibc
import Posix

/// `mount -o remount,…`: changes what the kernel allows in a mount, while its daemon goes on.
struct Remount {
    private let options: HelperOptions
    private let entry: MountTable.Entry
    private let folder: Path

    init(_ options: HelperOptions, folder: Path) throws {
        guard geteuid() == 0 else { throw Self.onlyRoot(folder) }
        let path = try inWords(try AbsolutePath(resolving: folder)).path
        guard let entry = try inWords(try MountTable()).mount(at: path), entry.isLatchkey else {
            throw HelperError(.failure, "\(folder) is not a Latchkey mount", try: "latchkey status")
        }
        (self.options, self.entry, self.folder) = (options, entry, folder)
    }

    /// Seconds that the daemon gets to write what is dirty.
    private static let patience = 30.0

    func run() throws {
        guard case .mount(let mount) = try PathArgument.of(entry.mountPoint) else {
            throw HelperError(
                .failure, "the daemon of \(folder) does not answer", try: "latchkey status \(folder.quoted)")
        }
        try checkUnchanged(mount.status)
        let wanted = try flags()
        let isReadOnly = wanted & UInt(MS_RDONLY) != 0
        if !isReadOnly, mount.status.alwaysReadOnly == true {
            throw HelperError(
                .failure,
                "\(folder) was mounted read-only, and its daemon has not opened the vault for writing: mount it again",
                try: "latchkey unmount \(folder.quoted)")
        }
        guard
            unsafe entry.mountPoint.withCString({ unsafe Glibc.mount(nil, $0, nil, wanted | UInt(MS_REMOUNT), nil) })
                == 0
        else {
            throw failure(.current)
        }
        try wait(for: isReadOnly)
    }

    /// mount(8) repeats what /etc/fstab says; a value that would have to change is an error.
    private func checkUnchanged(_ status: Status) throws {
        let present = [
            "grace": "\(Int(clamping: status.grace))",
            "lock-when-idle": status.lockWhenIdle.map { "\(Int(clamping: $0))" } ?? "",
            "forget-after": status.forgetAfter.map { "\(Int(clamping: $0))" } ?? "",
            "when-locked": status.whenLocked?.rawValue ?? "",
            // Nil from an older daemon, and auto allows either.
            "transport": status.transport?.rawValue ?? "auto",
            "freeze-timeout": status.freezeTimeout.map { "\(Int(clamping: $0))" } ?? "",
        ]
        for option in options.named {
            let parts = option.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
            if parts.first == "freshness", parts.count == 2, let present = otherFreshness(than: parts[1], status) {
                throw HelperError(
                    .usage, "-o freshness=\(parts[1]): a remount does not change that; it is \(present)",
                    try: "latchkey unmount \(folder.quoted)")
            }
            guard let value = present[parts[0]], parts.count == 2 else { continue }
            let wanted =
                parts[0] == "forget-after" ? ForgetTime(argument: parts[1]).map { "\($0.seconds)" } : parts[1]
            guard value != wanted, parts != ["transport", "auto"] else { continue }
            throw HelperError(
                .usage,
                "-o \(parts[0])=\(parts[1]): a remount does not change that; it is \(value.isEmpty ? "unset" : parts[0] == "forget-after" ? "\(value)s" : value)",
                try: "latchkey unmount \(folder.quoted)")
        }
    }

    /// What the mount has instead of a value of `freshness`. A status without it is that of a mount that remembers
    /// nothing, for one reason or another.
    private func otherFreshness(than wanted: String, _ status: Status) -> String? {
        guard let freshness = status.freshness else { return wanted == "strict" ? "off" : nil }
        let present = freshness.isStrict ? "strict" : "warn"
        return wanted == present ? nil : present
    }

    /// Since the kernel keeps no access times of a FUSE mount, and the daemon decides at its start whether it does, a
    /// remount leaves them as they are.
    private func flags() throws -> UInt {
        let now = Set(entry.options)
        let isComplete = options.isComplete
        var set = isComplete ? [] : now.intersection(Self.bits.keys)
        if !isComplete, entry.isReadOnly { set.insert("ro") }
        for option in options.mountOptions {
            switch option {
            case "rw": set.remove("ro")
            case "dev", "suid", "exec": set.remove("no" + option)
            case "async": set.remove("sync")
            case "atime", "relatime": set.remove("noatime")
            case _ where Self.bits[option] != nil: set.insert(option)
            case "allow_other", "default_permissions": break
            case _ where option.hasPrefix("fsname="): break
            default: throw HelperError(.usage, "-o \(option): a remount does not change that")
            }
        }
        guard set.contains("noatime") == now.contains("noatime") else {
            throw HelperError(
                .usage, "-o noatime: whether access times are kept is decided at the mount, not at a remount",
                try: "latchkey unmount \(folder.quoted)")
        }
        return set.reduce(UInt(now.contains("noatime") ? MS_NOATIME : MS_RELATIME)) { $0 | Self.bits[$1]! }
    }

    private static let bits: [String: UInt] = [
        "ro": UInt(MS_RDONLY), "nosuid": UInt(MS_NOSUID), "nodev": UInt(MS_NODEV), "noexec": UInt(MS_NOEXEC),
        "sync": UInt(MS_SYNCHRONOUS), "dirsync": UInt(MS_DIRSYNC), "noatime": UInt(MS_NOATIME),
    ]

    private func failure(_ error: Errno) -> HelperError {
        switch error {
        case .EBUSY:
            HelperError(
                .failure, "cannot remount \(folder) read-only: programs have files open for writing",
                try: "latchkey status --holders \(folder.quoted)")
        case .EPERM: Self.onlyRoot(folder)
        default: HelperError(.failure, "cannot remount \(folder): \(error)")
        }
    }

    private static func onlyRoot(_ folder: Path) -> HelperError {
        HelperError(
            .usage, "cannot remount \(folder): only root may do that",
            try: "sudo mount -o remount,ro \(folder.quoted)")
    }

    /// The daemon learns of a remount from the table of mounts. Returns when the vault's folder has all that was
    /// written.
    private func wait(for isReadOnly: Bool) throws {
        let start = ContinuousClock.now
        while case .mount(let mount) = try PathArgument.of(entry.mountPoint), mount.status.readOnly != isReadOnly {
            guard start.duration(to: .now) < .seconds(Self.patience) else {
                throw HelperError(
                    .failure, "\(folder) is remounted, but its daemon is still writing what was written before",
                    try: "latchkey status \(folder.quoted)")
            }
            usleep(10_000)
        }
    }
}
