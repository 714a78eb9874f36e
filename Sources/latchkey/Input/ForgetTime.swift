import ArgumentParser

/// How long class C's key stays while a mount is locked: a number of hours, or one with a unit: 90s, 30m, 72h, 3d.
struct ForgetTime: ExpressibleByArgument, Hashable {
    /// From a second to the 8760 hours of a year.
    let seconds: Int

    init(hours: Int) { seconds = hours * 3600 }

    init?(argument: String) {
        let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = argument.last.flatMap { units[String($0)] }
        let digits = unit == nil ? Substring(argument) : argument.dropLast()
        guard digits.utf8.allSatisfy({ 48...57 ~= $0 }), digits.utf8.count <= 8, let number = Int(digits),
            1...8760 * 3600 ~= number * (unit ?? 3600)
        else { return nil }
        seconds = number * (unit ?? 3600)
    }

    /// As typed, in the largest unit that leaves no rest.
    var text: String {
        for (unit, size) in [("d", 86_400), ("h", 3600), ("m", 60)] where seconds % size == 0 {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
