import Administration
import ArgumentParser

/// What `-o` takes: the usual options of mount(8) that mean something here.
struct MountOptions {
    /// No writes, from anyone.
    private(set) var isReadOnly = false
    /// As the kernel and fusermount3 take them, `ro` among them; nosuid and nodev unless asked otherwise, and always
    /// default_permissions.
    private(set) var options: [String] = []

    private static let switches = [
        "ro", "rw", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "atime", "noatime", "relatime", "sync", "async",
        "dirsync",
        "allow_other", "default_permissions",
    ]

    /// Takes the values of all `-o`, each a list separated by commas; of two that contradict, the later one holds.
    init(parsing lists: [String]) throws {
        // The kernel checks modes and owners, as in any file system: the daemon answers whoever the kernel lets through.
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
            // As it is with atime: mount(8) writes it into the tables of mounts.
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

    /// With what the table of mounts is to show: a type of its own, by which `MountTable` knows a Latchkey mount, and
    /// the vault where no other name was asked for.
    func options(for vault: AbsolutePath) -> [String] {
        let hasName = options.contains { $0.hasPrefix("fsname=") }
        return options + (hasName ? [] : ["fsname=" + vault.text]) + ["subtype=latchkey"]
    }

    private static func unknown(_ option: String) -> ValidationError {
        ValidationError(
            "-o \(option): no such option. Known are \((switches + ["fsname=NAME"]).joined(separator: ", ")).")
    }
}
