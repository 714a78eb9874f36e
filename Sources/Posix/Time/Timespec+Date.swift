import Glibc

extension Timespec {
    /// The time in UTC, such as 2025-11-21 19:38:12Z.
    public var date: String {
        var moment = time_t(seconds)
        var parts = unsafe tm()
        guard unsafe gmtime_r(&moment, &parts) != nil else { return "\(seconds) s" }
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe strftime(&text, text.count, "%Y-%m-%d %H:%M:%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
