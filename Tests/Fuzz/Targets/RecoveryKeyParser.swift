import Crypto
import Keybag
import TestSecrets

/// The text of a recovery key, as people type it.
final class RecoveryKeyParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        try read(input)
        if input.count >= 32 { try write(Array(input.prefix(32))) }
    }

    private func read(_ input: [UInt8]) throws(Finding) {
        let typed = try demandSuccess(of: "copying a text") { try secret(input) }
        guard let key = try? RecoveryKeyText.decode(typed) else { return }
        let text = try demandSuccess(of: "encoding") { try RecoveryKeyText.encode(key) }
        try demand(Self.digits(of: input) == Self.digits(of: text.bytes), "a text of another key")
    }

    private func write(_ bytes: [UInt8]) throws(Finding) {
        let again = try demandSuccess(of: "reading what was written") {
            try RecoveryKeyText.decode(RecoveryKeyText.encode(secret(bytes)))
        }
        try demand(again.bytes == bytes, "a text that is read as another key")
    }

    /// The significant part of a text: 52 characters, each with one spelling.
    private static func digits(of text: [UInt8]) -> String {
        let ignored: Set<Character> = ["-", " ", "\t", "\n", "\u{B}", "\u{C}", "\r", "\r\n"]
        let digits = String(decoding: text, as: UTF8.self).uppercased().filter { !ignored.contains($0) }
        return String(digits.map { $0 == "O" ? "0" : $0 == "I" || $0 == "L" ? "1" : $0 })
    }
}

extension Secret {
    /// Only a test makes such a key.
    var bytes: [UInt8] { withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } } }
}
