/// Numbers as people read them.
enum Amount {
    /// With commas between thousands.
    static func count(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number).reversed())
        return String(
            stride(from: 0, to: digits.count, by: 3)
                .map { String(digits[$0..<min($0 + 3, digits.count)]) }.joined(separator: ",").reversed())
    }

    /// A number and its noun, in the plural unless the number is 1.
    static func of(_ number: Int, _ noun: String) -> String { of(number, noun, plural: noun + "s") }

    static func of(_ number: Int, _ noun: String, plural: String) -> String {
        "\(count(number)) \(number == 1 ? noun : plural)"
    }

    /// Bytes with three digits, in the unit that makes the number less than 1024.
    static func bytes(_ bytes: UInt64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 999.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        guard unit > 0 else { return "\(bytes) B" }
        if value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
        let factor: Double = value >= 9.995 ? 10 : 100
        return "\((value * factor).rounded() / factor) \(units[unit])"
    }

    /// Seconds, or minutes and seconds, or hours and minutes.
    static func time(_ seconds: Double) -> String {
        let whole = Int(clamping: seconds.rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
