import ArgumentParser

/// How long a command needs class A after a lock: a number of seconds, or one with a unit: 90s, 10m, 1h.
struct HoldTime: ExpressibleByArgument, Hashable {
    /// From a second to a day; the policy may allow less.
    let seconds: Int

    init?(argument: String) {
        let units = ["s": 1, "m": 60, "h": 3600]
        let unit = argument.last.flatMap { units[String($0)] }
        let digits = unit == nil ? Substring(argument) : argument.dropLast()
        guard digits.utf8.allSatisfy({ 48...57 ~= $0 }), digits.utf8.count <= 8, let number = Int(digits),
            1...86_400 ~= number * (unit ?? 1)
        else { return nil }
        seconds = number * (unit ?? 1)
    }
}
