import Glibc

extension Strength {
    /// 0 to 4, as in zxcvbn: 1 from 10^3 guesses on, 2 from 10^6, 3 from 10^8, 4 from 10^10.
    ///
    /// Source: zxcvbn, time_estimates.coffee, guesses_to_score, whose limits are slightly above the round numbers.
    public var score: Int { [1e3, 1e6, 1e8, 1e10].count { bits >= log2($0 + 5) } }

    /// Whether a passcode must not be set without an explicit confirmation, unless a chip counts guesses. An attacker
    /// who has the disk and tries common choices first needs at most a million guesses: at half a second each, that
    /// takes days on one machine and minutes on many.
    public var isWeak: Bool { score < 2 }
}
