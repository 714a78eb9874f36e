import Glibc

/// Times and durations as people read them.
enum Clock {
    /// Local time of day, as 14:03:27, of a moment in seconds since 1970.
    static func time(_ seconds: Double) -> String? { format(seconds, "%H:%M:%S") }

    /// Local date and time, as 2026-03-27 14:03:27, of a moment in seconds since 1970.
    static func moment(_ seconds: Double) -> String? { format(seconds, "%Y-%m-%d %H:%M:%S") }

    /// Seconds to the millisecond, with the unit.
    static func precisely(_ seconds: Double) -> String {
        let milliseconds = Int((seconds * 1000).rounded())
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest) s"
    }

    /// Seconds rounded up, with the unit; never "0.4 s", and "0 s" only if no time is left.
    static func seconds(_ value: Double) -> String { "\(Int(value.rounded(.up))) s" }

    private static func format(_ seconds: Double, _ format: String) -> String? {
        guard var moment = time_t(exactly: seconds.rounded()) else { return nil }
        var parts = unsafe tm()
        guard unsafe localtime_r(&moment, &parts) != nil else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe strftime(&text, text.count, format, &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
