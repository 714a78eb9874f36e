/// The parts of /proc/PID/status that decide about set-ID bits.
struct Credentials: Equatable {
    /// The file-system IDs: the kernel decides by them, and a request carries them.
    let user: UInt32
    let group: UInt32
    let groups: [UInt32]
    let effectiveCapabilities: UInt64

    /// nil unless every line is present and complete.
    ///
    /// The name of a program cannot forge a line: the kernel escapes a newline in it.
    init?(_ status: [UInt8]) {
        var lines: [String: [Substring]] = [:]
        let text = String(decoding: status, as: UTF8.self)
        guard let end = text.lastIndex(of: "\n") else { return nil }
        for line in text[..<end].split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            if let label = words.first, lines[String(label)] == nil { lines[String(label)] = Array(words.dropFirst()) }
        }
        // Real, effective, saved and file-system ID.
        guard let users = lines["Uid:"], users.count == 4, let user = UInt32(users[3]),
            let ownGroups = lines["Gid:"], ownGroups.count == 4, let group = UInt32(ownGroups[3]),
            let supplementary = lines["Groups:"], let capabilities = lines["CapEff:"]?.first,
            let effective = UInt64(capabilities, radix: 16)
        else { return nil }
        self.user = user
        self.group = group
        groups = supplementary.compactMap { UInt32($0) }
        effectiveCapabilities = effective
    }

    /// Source: linux/capability.h.
    var hasFSETID: Bool { effectiveCapabilities & 1 << 4 != 0 }
}
