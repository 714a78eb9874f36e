import Format

/// What a line of the configuration says, as a sentence.
public struct Statement: Hashable, Sendable {
    public let line: Int
    public let sentence: String
}

extension NamedVault {
    /// The table line by line. A line about the mount point is there even if the file has none.
    public var statements: [Statement] {
        let keys = lines.sorted { $0.value < $1.value }
        let first = Statement(line: line, sentence: "\(name): a vault, mounted on \(mountPoint).")
        return [first]
            + keys.compactMap { key, line in
                sentence(key).map { Statement(line: line, sentence: "\(name): \($0)") }
            }
    }

    private func sentence(_ key: Key) -> String? {
        switch key {
        case .folder: "its folder is \(folder)."
        case .mount: nil
        case .defaultClass: defaultClass.map { "init --name gives it the default class \($0.name) (\($0.letter))." }
        case .grace: grace.map { $0 == 0 ? "it has no grace." : "its grace is \(Self.seconds($0))." }
        case .lockWhenIdle: lockWhenIdle.map { "it locks by itself after \(Self.seconds($0)) without use." }
        case .forgetAfter:
            forgetAfter.map { "it closes class C as well after \($0) hour\($0 == 1 ? "" : "s") locked." }
        case .whenLocked:
            whenLocked == .freeze
                ? "open and read of locked files wait for the unlock." : "open and read of locked files fail."
        case .freezeTimeout: freezeTimeout.map { "they wait \(Self.seconds($0)) at most." }
        case .lease:
            lease.map { "this machine may change it for \(Self.seconds($0)) without a look whether it still has it." }
        case .shared:
            isShared == true
                ? "other machines may mount it at the same time." : "one machine at a time mounts it."
        case .storeRisk:
            storeRisk == .accept
                ? "it is mounted even where the store would lose data."
                : "it is not mounted where the store would lose data."
        case .transport:
            switch transport ?? .auto {
            case .auto: "its requests come by io_uring where the kernel allows it."
            case .ring: "its requests come by io_uring; if the kernel does not offer it, it is not mounted."
            case .device: "its requests come by /dev/fuse."
            }
        case .freshness:
            switch freshness ?? .warn {
            case .warn: "it warns of files that are older than what this machine has seen."
            case .strict: "it refuses files that are older than what this machine has seen."
            case .off: "this machine does not remember how new its files are."
            }
        case .readOnly: isReadOnly == true ? "it is mounted read-only." : "it is mounted for reading and writing."
        case .allowOther:
            allowsOthers == true ? "other users may use its mount." : "other users may not use its mount."
        case .options: "it is mounted with -o \(options.joined(separator: ","))."
        case .deviceKey: deviceKey.map { "its device key is \($0)." }
        case .policy: policy.map { "it keeps the policy \($0), too." }
        case .passcodeCommand: passcodeCommand.map { "its passcode is what the command \($0) prints." }
        case .guardMountPoint:
            guardsMountPoint == true
                ? "its bare mount point takes no files." : "its bare mount point stays as it is."
        case .lockOn:
            lockOn.map { sources in
                sources.isEmpty
                    ? "the agent does not lock it."
                    : "the agent locks it only because of "
                        + "\(sources.map(\.rawValue).sorted().joined(separator: " or "))."
            }
        case .unlockAtLogin:
            unlocksAtLogin == true
                ? "the passcode of a login unlocks it, and it changes with that one."
                : "the passcode of a login does not unlock it."
        }
    }

    private static func seconds(_ count: Int) -> String { "\(count) second\(count == 1 ? "" : "s")" }
}
