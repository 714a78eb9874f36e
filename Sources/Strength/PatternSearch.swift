import Crypto
import Glibc

/// Finds the patterns in a part of a passcode that an attacker knows. No result is in an array: freed arrays are not
/// wiped.
struct PatternSearch: ~Copyable {
    private let text: SecretText
    private let whole: Range<Int>
    /// The cost of the cheapest pattern for each first and last character, counted from the start of the part.
    private let costs: SecretNumbers

    /// - Parameter costs: the square of the part's length, all infinite.
    init(_ text: SecretText, _ whole: Range<Int>, _ costs: consuming SecretNumbers) {
        self.text = text
        self.whole = whole
        self.costs = costs
    }

    func addPatterns() {
        addWords()
        addSequences()
        addKeyboardRuns()
        addDates()
    }

    /// The cost of the cheapest pattern between two characters, counted from the start of the part; infinite if there
    /// is none.
    func cost(_ begin: Int, _ end: Int) -> Double { costs[begin * whole.count + end] }

    private func add(_ range: Range<Int>, _ logGuesses: Double) {
        let index = (range.lowerBound - whole.lowerBound) * whole.count + range.upperBound - 1 - whole.lowerBound
        costs[index] = min(costs[index], logGuesses)
    }

    private func byte(_ index: Int) -> UInt8 { text[index] }

    private func lowercase(_ index: Int) -> UInt8 {
        let byte = byte(index)
        return isUppercase(byte) ? byte + 32 : byte
    }

    private func isUppercase(_ byte: UInt8) -> Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte }
    private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    // MARK: Words

    /// Words as they are, with digits for letters, and reversed.
    private func addWords() {
        let table = WordTable.common
        for begin in whole {
            var (plain, leet) = (WordHash(), WordHash())
            for end in begin..<whole.upperBound {
                plain.add(lowercase(end))
                leet.add(letter(for: lowercase(end)))
                let range = begin..<end + 1
                if let rank = table.rank(of: plain) { add(range, log10(Double(rank)) + capitals(range)) }
                let substituted = range.count { letter(for: lowercase($0)) != lowercase($0) }
                if substituted > 0, let rank = table.rank(of: leet) {
                    // Each substitutable letter may have been changed or not.
                    add(range, log10(Double(rank)) + capitals(range) + Double(substituted) * log10(2) + log10(2))
                }
            }
        }
        for end in whole {
            var backwards = WordHash()
            for begin in (whole.lowerBound...end).reversed() {
                backwards.add(lowercase(begin))
                let range = begin..<end + 1
                if range.count > 2, let rank = table.rank(of: backwards) {
                    add(range, log10(Double(rank)) + capitals(range) + log10(2))
                }
            }
        }
    }

    private func letter(for byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
        case UInt8(ascii: "8"): UInt8(ascii: "b")
        case UInt8(ascii: "3"): UInt8(ascii: "e")
        case UInt8(ascii: "6"), UInt8(ascii: "9"): UInt8(ascii: "g")
        case UInt8(ascii: "1"), UInt8(ascii: "!"): UInt8(ascii: "i")
        case UInt8(ascii: "0"): UInt8(ascii: "o")
        case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
        case UInt8(ascii: "7"), UInt8(ascii: "+"): UInt8(ascii: "t")
        case UInt8(ascii: "2"): UInt8(ascii: "z")
        default: byte
        }
    }

    /// The number of ways to write that many capitals.
    private func capitals(_ range: Range<Int>) -> Double {
        let upper = range.count { isUppercase(byte($0)) }
        if upper == 0 { return 0 }
        if upper == range.count
            || (upper == 1 && (isUppercase(byte(range.lowerBound)) || isUppercase(byte(range.upperBound - 1))))
        {
            return log10(2)
        }
        let few = min(upper, range.count - upper)
        return log10((1...max(few, 1)).reduce(0.0) { $0 + Self.choices(range.count, $1) })
    }

    private static func choices(_ all: Int, _ some: Int) -> Double {
        (0..<some).reduce(1.0) { $0 * Double(all - $1) / Double($1 + 1) }
    }

    // MARK: Sequences and repetitions

    /// abc, 2468, 987: the same step each time.
    private func addSequences() {
        var begin = whole.lowerBound
        while begin + 2 < whole.upperBound {
            let step = Int(byte(begin + 1)) - Int(byte(begin))
            var end = begin + 2
            while end < whole.upperBound, Int(byte(end)) - Int(byte(end - 1)) == step { end += 1 }
            if end - begin >= 3, 1...5 ~= abs(step) {
                let first = byte(begin)
                let obvious: [UInt8] = Array("aAzZ019".utf8)
                var base = obvious.contains(first) ? 4.0 : isDigit(first) ? 10 : 26
                if step < 0 { base *= 2 }
                add(begin..<end, log10(base * Double(end - begin)))
            }
            begin = max(end - 1, begin + 1)
        }
    }

    /// The same part several times in a row.
    ///
    /// - Parameter guesses: the cost of the repeated part.
    func addRepetitions(
        _ guesses: (Range<Int>) throws(CryptoError) -> Double
    ) throws(CryptoError) {
        for period in 1...max(1, whole.count / 2) {
            var begin = whole.lowerBound
            while begin + 2 * period <= whole.upperBound {
                var end = begin + period
                while end < whole.upperBound, byte(end) == byte(end - period) { end += 1 }
                let times = (end - begin) / period
                if times >= 2, times * period >= 3 {
                    add(begin..<begin + times * period, try guesses(begin..<begin + period) + log10(Double(times)))
                }
                begin = max(begin + 1, end - period + 1)
            }
        }
    }

    // MARK: The keyboard

    private static let rows: [[UInt8]] = ["`1234567890-=", " qwertyuiop[]", " asdfghjkl;'", " zxcvbnm,./"].map {
        Array($0.utf8)
    }

    /// Row and column of a key; columns count half the width of a key.
    private func place(_ index: Int) -> (row: Int, column: Int)? {
        let key = lowercase(index)
        guard key > 32 else { return nil }
        for (row, keys) in Self.rows.enumerated() {
            if let column = keys.firstIndex(of: key) { return (row, 2 * column + (row == 0 ? 0 : row - 1)) }
        }
        return nil
    }

    /// A run over adjacent keys.
    private func addKeyboardRuns() {
        var begin = whole.lowerBound
        while begin + 2 < whole.upperBound {
            var end = begin + 1
            var turns = 0
            var last: (Int, Int)?
            while end < whole.upperBound, let from = place(end - 1), let to = place(end) {
                let step = (to.row - from.row, to.column - from.column)
                guard abs(step.0) <= 1, abs(step.1) <= 2, step != (0, 0), !(step.0 == 0 && abs(step.1) == 1) else {
                    break
                }
                if let last, last != step { turns += 1 }
                last = step
                end += 1
            }
            if end - begin >= 3 {
                let length = Double(end - begin)
                add(begin..<end, log10(47 * length) + Double(turns + 1) * log10(4.6) + capitals(begin..<end))
            }
            begin = max(end - 1, begin + 1)
        }
    }

    // MARK: Dates

    /// Years from 1900 to 2100, and dates of six or eight digits or with separators.
    private func addDates() {
        for begin in whole {
            if begin + 4 <= whole.upperBound, let year = number(begin..<begin + 4), 1900...2100 ~= year {
                add(begin..<begin + 4, log10(Self.years(year)))
            }
            for length in [6, 8] where begin + length <= whole.upperBound {
                let range = begin..<begin + length
                guard let value = number(range) else { continue }
                let (first, second) =
                    length == 8
                    ? ((value / 10_000, value % 10_000), (value % 10_000, value / 10_000))
                    : ((value % 100 + 1900, value / 100), (value / 10_000 + 1900, value % 10_000))
                if let year = Self.year(first) ?? Self.year(second) { add(range, log10(365 * Self.years(year))) }
            }
            addSeparatedDate(from: begin)
        }
    }

    /// 1.2.1990, 1990-02-01 and the like.
    private func addSeparatedDate(from begin: Int) {
        var small = 0
        var large: Int?
        var at = begin
        var separator: UInt8?
        for part in 0..<3 {
            var end = at
            while end < whole.upperBound, end - at < 4, isDigit(byte(end)) { end += 1 }
            guard let value = number(at..<end) else { return }
            if 1...31 ~= value { small += 1 }
            if value > 31, large == nil { large = value }
            if part == 2 {
                guard small >= 2 else { return }
                let year = large ?? 2000
                return add(begin..<end, log10(365 * Self.years(year < 100 ? year + 1900 : year) * 4))
            }
            guard end < whole.upperBound, Array("-./_ ".utf8).contains(byte(end)),
                separator == nil || separator == byte(end)
            else { return }
            separator = byte(end)
            at = end + 1
        }
    }

    private func number(_ range: Range<Int>) -> Int? {
        guard !range.isEmpty, range.allSatisfy({ isDigit(byte($0)) }) else { return nil }
        return range.reduce(0) { $0 * 10 + Int(byte($1) - UInt8(ascii: "0")) }
    }

    /// The distance of a year from the time of writing, at least 20.
    private static func years(_ year: Int) -> Double { Double(max(abs(year - 2026), 20)) }

    /// The year of a year and a day; nil if they are not valid.
    private static func year(_ parts: (Int, Int)) -> Int? {
        1900...2100 ~= parts.0 && isDay(parts.1) ? parts.0 : nil
    }

    /// Whether four digits are a day and a month, in either order.
    private static func isDay(_ value: Int) -> Bool {
        let (a, b) = (value / 100, value % 100)
        return (1...31 ~= a && 1...12 ~= b) || (1...12 ~= a && 1...31 ~= b)
    }
}
