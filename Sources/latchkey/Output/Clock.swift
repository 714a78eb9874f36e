import Glibc

/// Times and durations as people read them.
enum Clock {
    /// Local time of day, as 14:03:27, of a moment in seconds since 1970.
    static func time(_ seconds: Double) -> String? { format(seconds, "%H:%M:%S") }

    /// Local date and time, as 2026-03-27 14:03:27, of a moment in seconds since 1970.
    static func moment(_ seconds: Double) -> String? { format(seconds, "%Y-%m-%d %H:%M:%S") }

    /// The same for a sentence, also of a time that no calendar has.
    static func date(_ seconds: Double) -> String { moment(seconds) ?? "at an unknown time" }

    /// Seconds to the millisecond, with the unit.
    static func precisely(_ seconds: Double) -> String {
        let milliseconds = max(0, Int(clamping: (seconds * 1000).rounded()))
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest) s"
    }

    /// Seconds rounded up, with the unit; never "0.4 s", and "0 s" only if no time is left.
    static func seconds(_ value: Double) -> String { "\(Int(clamping: value.rounded(.up))) s" }

    /// The same in the largest unit that leaves no rest: "3 days", "90 minutes".
    static func long(_ value: Double) -> String {
        let count = Int(clamping: value.rounded(.up))
        for (size, unit) in [(86_400, "day"), (3600, "hour"), (60, "minute")] where count > 0 && count % size == 0 {
            return Amount.of(count / size, unit)
        }
        return seconds(value)
    }

    private static func format(_ seconds: Double, _ format: String) -> String? {
        guard var moment = time_t(exactly: seconds.rounded()) else { return nil }
        var parts = unsafe tm()
        guard unsafe localtime_r(&moment, &parts) != nil else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe strftime(&text, text.count, format, &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
