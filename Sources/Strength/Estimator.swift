import Glibc

/// Takes a passcode apart in the way that needs the fewest guesses.
///
/// Guesses are base 10 logarithms, as in the paper.
struct Estimator {
    /// So many values a character that nothing is known of is worth.
    private static let plainCharacter = 1.0
    /// Longer ones are strong or repeated; what is behind does not count.
    private static let longest = 128
    private static let sequencesAtLeast = log10(10_000.0)

    private let text: SecretText

    init(_ text: SecretText) { self.text = text }

    func bits() -> Double { logGuesses(0..<min(text.count, Self.longest)) * log2(10) }

    /// A part that a guesser knows how to guess.
    struct Match {
        let range: Range<Int>
        /// At least 0.
        let logGuesses: Double
    }

    private func logGuesses(_ whole: Range<Int>, isRepeated: Bool = false) -> Double {
        guard !whole.isEmpty else { return 0 }
        var search = PatternSearch(text, whole)
        let matches = search.matches(repeated: isRepeated ? nil : { logGuesses($0, isRepeated: true) })
        var ending: [[Match]] = Array(repeating: [], count: whole.count)
        for match in matches { ending[match.range.upperBound - 1 - whole.lowerBound].append(match) }

        // best[end][parts]: the cheapest product of so many parts that reach there, and with the cost of their order and of
        // not knowing how many there are.
        var products: [[Int: Double]] = Array(repeating: [:], count: whole.count)
        var totals: [[Int: Double]] = Array(repeating: [:], count: whole.count)
        func take(_ match: Match, parts: Int) {
            let end = match.range.upperBound - 1 - whole.lowerBound
            let begin = match.range.lowerBound - whole.lowerBound
            var product = max(match.logGuesses, 0)
            if parts > 1 { product += products[begin - 1][parts - 1]! }
            var total = product + Self.logFactorial(parts)
            // A guesser tries fewer parts first.
            total = Self.logSum(total, Self.sequencesAtLeast * Double(parts - 1))
            for (other, known) in totals[end] where other <= parts && known <= total { return }
            products[end][parts] = product
            totals[end][parts] = total
        }
        for end in 0..<whole.count {
            for match in ending[end] {
                let begin = match.range.lowerBound - whole.lowerBound
                if begin == 0 {
                    take(match, parts: 1)
                } else {
                    for parts in products[begin - 1].keys.sorted() { take(match, parts: parts + 1) }
                }
            }
            // What is left between, character by character.
            for begin in 0...end {
                let plain = Match(
                    range: whole.lowerBound + begin..<whole.lowerBound + end + 1,
                    logGuesses: Self.plainCharacter * Double(end + 1 - begin))
                if begin == 0 {
                    take(plain, parts: 1)
                } else {
                    for parts in products[begin - 1].keys.sorted() { take(plain, parts: parts + 1) }
                }
            }
        }
        return totals[whole.count - 1].values.min() ?? 0
    }

    private static func logFactorial(_ number: Int) -> Double { lgamma(Double(number) + 1) / log(10) }

    /// log(10^a + 10^b).
    private static func logSum(_ a: Double, _ b: Double) -> Double {
        max(a, b) + log10(1 + pow(10, min(a, b) - max(a, b)))
    }
}

/// The bytes of a passcode where they lie, for as long as the call lasts that lends them.
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
