import ArgumentParser

/// The values of `-o`: the options of mount(8) that apply to this file system.
struct MountOptions {
    /// Whether all writes are refused.
    private(set) var isReadOnly = false
    /// The options for the kernel and fusermount3, `ro` included; nosuid and nodev unless the user asks for the
    /// opposite, and always default_permissions.
    private(set) var options: [String] = []

    private static let switches = [
        "ro", "rw", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "atime", "noatime", "relatime", "sync", "async",
        "dirsync",
        "allow_other", "default_permissions",
    ]

    /// Parses the values of all `-o`, each a list separated by commas; of two that contradict, the later one applies.
    init(parsing lists: [String]) throws {
        // The kernel checks modes and owners, as for any file system: the daemon relies on that.
        var set: [String: Bool] = ["suid": false, "dev": false, "default_permissions": true]
        var others: [String] = []
        for option in lists.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: true) }).map(String.init) {
            if option.hasPrefix("fsname="), option.count > "fsname=".count {
                others.append(option)
                continue
            }
            guard Self.switches.contains(option) else { throw Self.unknown(option) }
            switch option {
            case "ro": set["ro"] = true
            case "rw": set["ro"] = false
            case "async": set["sync"] = false
            // The same as atime; mount(8) writes it into the mount tables.
            case "relatime": set["atime"] = true
            case _ where option.hasPrefix("no"): set[String(option.dropFirst(2))] = false
            default: set[option] = true
            }
        }
        isReadOnly = set["ro"] == true
        for (option, isOn) in set.sorted(by: { $0.key < $1.key }) {
            switch option {
            case "ro", "sync", "dirsync", "allow_other", "default_permissions": if isOn { options.append(option) }
            default: options.append(isOn ? option : "no" + option)
            }
        }
        options += others
    }

    /// With the type by which `MountTable` recognises a Latchkey mount.
    var ofLatchkey: [String] { options + ["subtype=latchkey"] }

    /// Whether they name a source for the mount table.
    var hasSource: Bool { options.contains { $0.hasPrefix("fsname=") } }

    private static func unknown(_ option: String) -> ValidationError {
        ValidationError(
            "-o \(option): no such option. Known are \((switches + ["fsname=NAME"]).joined(separator: ", ")).")
    }
}
