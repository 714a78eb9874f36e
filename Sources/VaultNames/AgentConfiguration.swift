public import LockSources

/// The table `agent` of the configuration.
public struct AgentConfiguration: Hashable, Sendable {
    /// The line of the table's header; 0 without it.
    public internal(set) var line = 0
    /// Sources that lock nothing.
    public internal(set) var off: Set<LockSource> = []
    /// Vendor and product ID of the devices whose removal locks, in hexadecimal: "1050:0407".
    public internal(set) var usbDevices: Set<String> = []
    public internal(set) var notifies = true
    /// Whether notifications may name files.
    public internal(set) var namesFiles = false
    /// Whether sleep takes the key of class C as well.
    public internal(set) var locksDeepAtSleep = false

    /// The line of each key that the table has.
    public internal(set) var lines: [Key: Int] = [:]

    /// The keys of the table, as they stand in the file.
    public enum Key: String, Hashable, Sendable, CaseIterable {
        case off
        case usb
        case notifications
        case nameFiles = "name-files"
        case deepAtSleep = "deep-at-sleep"
    }

    public init() {}

    /// The table line by line.
    public var statements: [Statement] {
        lines.sorted { $0.value < $1.value }.map { key, line in
            Statement(line: line, sentence: "agent: \(sentence(key))")
        }
    }

    private func sentence(_ key: Key) -> String {
        switch key {
        case .off: "it does not lock because of \(Self.list(off.map(\.rawValue)))."
        case .usb: "it locks when \(Self.list(usbDevices)) is pulled out."
        case .notifications: notifies ? "it shows notifications." : "it shows no notifications."
        case .nameFiles: namesFiles ? "notifications may name files." : "notifications name no files."
        case .deepAtSleep: locksDeepAtSleep ? "sleep closes class C as well." : "sleep leaves class C open."
        }
    }

    private static func list(_ words: some Sequence<String>) -> String {
        let all = words.sorted()
        return all.isEmpty ? "nothing" : all.joined(separator: " or ")
    }
}
