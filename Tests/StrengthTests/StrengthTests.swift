import Crypto
import Glibc
import TestSecrets
import Testing

@testable import Strength

@Suite struct StrengthTests {
    private func bits(_ text: String) throws -> Double {
        return try Strength(of: secret(text)).bits
    }

    @Test func theCommonTableIsWhole() {
        #expect(WordTable.common.count > 1_000)
        var hash = WordHash()
        for byte in "123456".utf8 { hash.add(byte) }
        #expect(WordTable.common.rank(of: hash) == 1)
    }

    /// What an attacker guesses in the first seconds.
    @Test(arguments: [
        "1", "1234", "0000", "password", "Password", "PASSWORD", "p@ssw0rd", "drowssap", "qwerty", "asdfgh", "zxcvbn",
        "abcdef",
        "987654", "aaaaaaaa", "abcabcabc", "12.5.1990", "19900512", "1984", "iloveyou", "michael1", "sunshine",
    ]) func isWeak(text: String) throws {
        #expect(try bits(text) < 22, "\(text)")
    }

    /// Passcodes that need an explicit option: found within a million guesses.
    @Test(arguments: [
        "a", "abc", "1234", "2580", "123456", "482913", "qwerty", "password1", "Password1", "monkey", "aaaaaaaaaaaa",
        "2026",
    ]) func isRefused(text: String) throws {
        #expect(try Strength(of: secret(text)).isWeak)
    }

    @Test(arguments: ["passcode", "kxqvzjw", "correct horse battery staple", "new passcode"]) func isTaken(text: String)
        throws
    {
        #expect(try !Strength(of: secret(text)).isWeak)
    }

    @Test(arguments: [
        "correct horse battery staple", "gjQ8#vPz2!mWx", "abhängigkeit stövel kumquat 7",
        "tundra velvet quorum ostrich dab",
        "8f14e45fceea167a5a36dedd4bea2543",
    ]) func isStrong(text: String) throws {
        #expect(try bits(text) > 40, "\(text)")
    }

    @Test(arguments: [
        ("monkey", "monkey7"), ("password", "passwordqxj"), ("dragon", "Dragon"), ("dragon", "drAgon"),
        ("summer", "summer 1987"), ("kxq", "kxqv"), ("qwert", "qwertgf"), ("abc", "abcxyz"),
    ]) func moreIsNotLess(less: String, more: String) throws {
        #expect(try bits(less) <= bits(more), "\(less) \(more)")
    }

    /// A repeated part is hardly stronger than the part alone.
    @Test func repetitionsAreCheap() throws {
        let once = try bits("kxqvzj")
        #expect(try bits("kxqvzjkxqvzjkxqvzj") < once + 4)
        #expect(try bits("kxqvzjwmbpgd") > once + 15)
    }

    @Test func anyBytesOfAnyLength() throws {
        for count in [0, 1, 2, 3, 127, 128, 129, 1024] {
            let secret = try Secret(random: count)
            let found = try Strength(of: secret).bits
            #expect(found >= 0 && found.isFinite)
            #expect(count < 100 || found > 300)
        }
        #expect(try bits(String(repeating: "a", count: 1024)) < 20)
    }

    @Test func timeToGuess() {
        #expect(Strength(bits: 11).seconds(perGuess: 0.5) == 512)
    }

    /// The thresholds of zxcvbn, a little above the powers of ten.
    @Test(arguments: [(3.0, 0), (6.0, 1), (8.0, 2), (10.0, 3)]) func scores(power: Double, score: Int) {
        let guesses = pow(10, power)
        #expect(Strength(bits: log2(guesses)).score == score)
        #expect(Strength(bits: log2(guesses + 6)).score == score + 1)
        #expect(Strength(bits: 0).score == 0)
        #expect(Strength(bits: 400).score == 4)
    }
}
