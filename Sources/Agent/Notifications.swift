import Bus

/// Notifications of the desktop. A new one replaces the last, except those that stay.
///
/// Source: Desktop Notifications Specification 1.2.
struct Notifications {
    static let interface = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let lockNow = "lock-now"

    /// The ID of the last one; 0 before it.
    private var last: UInt32 = 0

    mutating func show(_ notice: Notice.Text, _ bus: borrowing BusConnection) {
        let actions = notice.offersLock ? [Self.lockNow, "Lock now"] : []
        let replaced = notice.stays ? 0 : last
        // In milliseconds; 0 for ever.
        let time: Int32 = notice.stays ? 0 : 10_000
        // A desktop without notifications shows none.
        let reply = try? bus.call(
            Self.interface, Self.path, Self.interface, "Notify", .string("Latchkey"), .uint32(replaced),
            .string("changes-prevent"), .string(notice.summary.text), .string(Self.escaped(notice.body.text)),
            .strings(actions), .options(["category": .string("device"), "transient": .boolean(!notice.stays)]),
            .int32(time))
        if !notice.stays, let id = reply?.first?.unsigned.flatMap({ UInt32(exactly: $0) }) { last = id }
    }

    /// Whether a person has chosen "Lock now" in the last one.
    func isLockNow(_ signal: BusSignal) -> Bool {
        signal.interface == Self.interface && signal.member == "ActionInvoked" && last != 0
            && signal.body.first?.unsigned == UInt64(last) && signal.body.dropFirst().first?.string == Self.lockNow
    }

    /// A body may be markup.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
