import Glibc

extension Strength {
    /// 0 to 4, as zxcvbn has it: 1 from 10^3 guesses on, 2 from 10^6, 3 from 10^8, 4 from 10^10.
    ///
    /// Source: zxcvbn, time_estimates.coffee, guesses_to_score, which puts the borders a little above the round numbers.
    public var score: Int { [1e3, 1e6, 1e8, 1e10].count { bits >= log2($0 + 5) } }

    /// Whether a passcode must not be set without a word, unless a chip counts guesses: somebody who has the disk, and knows how people
    /// choose, finds it within a million. At half a second each that takes one machine days, and many of them minutes.
    public var isWeak: Bool { score < 2 }
}
