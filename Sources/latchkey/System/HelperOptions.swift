import ArgumentParser
import Glibc

/// The values of `-o` as mount(8) hands them to its helper, from the command line and /etc/fstab.
struct HelperOptions {
    /// Switches of `latchkey mount -o`.
    private(set) var mountOptions: [String] = []
    /// Options of `latchkey mount`.
    private(set) var named: [String] = []
    /// The user whom the daemon runs as: `setuid=`, a name or a number.
    private(set) var user: String?
    private(set) var isRemount = false
    /// The list is all that the mount is to have, since mount(8) has added what the kernel shows.
    private(set) var isComplete = false
    private var unlocks = false
    private var asks = false

    /// Read by mount(8) itself, by systemd's generator of units, or by the kernel.
    private static let ignored: Set = [
        "defaults", "auto", "noauto", "user", "nouser", "users", "nousers", "owner", "noowner", "group", "nogroup",
        "nofail", "_netdev",
    ]
    private static let ignoredPrefixes = ["x-", "X-", "comment=", "user=", "helper=", "uhelper="]
    /// What the kernel shows of a FUSE mount, and mount(8) repeats at a remount.
    private static let shown = ["user_id=", "group_id=", "max_read=", "blksize="]
    private static let values = [
        "grace", "lease", "lock-when-idle", "forget-after", "when-locked", "freeze-timeout", "device-key", "policy",
        "class-default", "store-risk", "transport", "freshness",
    ]
    /// Those that unlock; `latchkey mount` asks for the passcode only with --unlock.
    private static let secrets = ["passcode-file", "key-file"]

    /// - Parameter isSloppy: unknown options are ignored instead of refused.
    init(_ lists: [String], isSloppy: Bool = false) throws {
        for option in lists.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: true) }).map(String.init) {
            try take(option, isSloppy: isSloppy)
        }
    }

    private mutating func take(_ option: String, isSloppy: Bool) throws {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch parts[0] {
        case _ where Self.ignored.contains(option) || Self.ignoredPrefixes.contains { option.hasPrefix($0) }: break
        case "remount" where parts.count == 1: isRemount = true
        case _ where Self.shown.contains { option.hasPrefix($0) }: isComplete = true
        case "shared" where parts.count == 1: named.append("--shared")
        case "unlock" where parts.count == 1: unlocks = true
        case "ask-password" where parts.count == 1: asks = true
        case "setuid" where parts.count == 2: user = parts[1]
        case _ where parts.count == 2 && Self.values.contains(parts[0]): named.append("--\(option)")
        case _ where parts.count == 2 && Self.secrets.contains(parts[0]):
            unlocks = parts[0] == "passcode-file" || unlocks
            named.append("--\(option)")
        default:
            if isSloppy, (try? MountOptions(parsing: [option])) == nil { return }
            // Checked here, where the error names the option.
            _ = try MountOptions(parsing: [option])
            mountOptions.append(option)
        }
    }

    /// The same for `latchkey mount`.
    func arguments() throws -> [String] {
        var words = named
        if !mountOptions.isEmpty { words += ["-o", mountOptions.joined(separator: ",")] }
        let hasSource = named.contains { word in Self.secrets.contains { word.hasPrefix("--\($0)=") } }
        if unlocks || asks { words.append("--unlock") }
        // At boot there is no terminal, and an agent of systemd's asks.
        if asks || (unlocks && !hasSource && isatty(STDIN_FILENO) != 1) { words.append("--ask-password") }
        return words
    }
}
