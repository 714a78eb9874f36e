import Crypto
import Glibc

/// Divides a passcode into parts so that it needs the fewest guesses.
///
/// Guesses are base 10 logarithms, as in the paper. All values that depend on the passcode are in `SecretNumbers` or on
/// the stack.
struct Estimator {
    /// The cost of a character outside of any pattern.
    private static let plainCharacter = 1.0
    /// Longer passcodes are strong or repetitive; characters beyond this are ignored.
    private static let longest = 128
    private static let sequencesAtLeast = log10(10_000.0)

    private let text: SecretText

    init(_ text: SecretText) { self.text = text }

    func bits() throws(CryptoError) -> Double { try logGuesses(0..<min(text.count, Self.longest)) * log2(10) }

    private func logGuesses(_ whole: Range<Int>, isRepeated: Bool = false) throws(CryptoError) -> Double {
        guard !whole.isEmpty else { return 0 }
        let search = PatternSearch(
            text, whole, try SecretNumbers(count: whole.count * whole.count, repeating: .infinity))
        search.addPatterns()
        if !isRepeated {
            try search.addRepetitions { (part) throws(CryptoError) in try logGuesses(part, isRepeated: true) }
        }
        return try Division(count: whole.count, sequencesAtLeast: Self.sequencesAtLeast).logGuesses { begin, end in
            // Text outside of all patterns, character by character.
            min(search.cost(begin, end), Self.plainCharacter * Double(end + 1 - begin))
        }
    }
}

/// The cheapest division of a text into parts.
private struct Division: ~Copyable {
    private let count: Int
    private let sequencesAtLeast: Double
    /// The largest number of parts: with more, the guesses for fewer parts alone exceed all texts of this length.
    private let most: Int
    /// For each end and number of parts: the cheapest product of the parts up to there, and the total, which adds the
    /// cost of their order and of the unknown number of parts.
    private let products: SecretNumbers
    private let totals: SecretNumbers

    init(count: Int, sequencesAtLeast: Double) throws(CryptoError) {
        let most = count / 4 + 1
        let products = try SecretNumbers(count: count * most, repeating: .infinity)
        let totals = try SecretNumbers(count: count * most, repeating: .infinity)
        self.count = count
        self.sequencesAtLeast = sequencesAtLeast
        self.most = most
        self.products = products
        self.totals = totals
    }

    /// - Parameter cost: of the part from its first to its last character; infinite if it is none.
    func logGuesses(_ cost: (Int, Int) -> Double) -> Double {
        for end in 0..<count {
            for begin in 0...end {
                let part = max(cost(begin, end), 0)
                if begin == 0 {
                    take(part, reaching: end, parts: 1)
                } else {
                    for parts in 1..<max(most, 1) where products[(begin - 1) * most + parts - 1].isFinite {
                        take(products[(begin - 1) * most + parts - 1] + part, reaching: end, parts: parts + 1)
                    }
                }
            }
        }
        return (0..<most).reduce(Double.infinity) { min($0, totals[(count - 1) * most + $1]) }
    }

    private func take(_ product: Double, reaching end: Int, parts: Int) {
        // An attacker tries fewer parts first.
        let total = Self.logSum(product + Self.logFactorial(parts), sequencesAtLeast * Double(parts - 1))
        let row = end * most - 1
        for other in 1...parts where totals[row + other] <= total { return }
        products[row + parts] = product
        totals[row + parts] = total
    }

    private static func logFactorial(_ number: Int) -> Double {
        var sum = 0.0
        for factor in 1...number { sum += log10(Double(factor)) }
        return sum
    }

    /// log(10^a + 10^b).
    private static func logSum(_ a: Double, _ b: Double) -> Double {
        max(a, b) + log10(1 + pow(10, min(a, b) - max(a, b)))
    }
}

/// The bytes of a passcode in the caller's memory, valid only during the call that lends them.
@safe
struct SecretText {
    private let bytes: UnsafeRawBufferPointer

    @unsafe
    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    var count: Int { unsafe bytes.count }

    subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count)
        return unsafe bytes[index]
    }
}
