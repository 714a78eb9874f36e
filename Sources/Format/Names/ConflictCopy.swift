/// A backing name that a synchronisation program has given to the losing version of a file, and what it says.
///
/// Such programs put their words between the name and its extension, or behind it. Encrypted names have no extension,
/// so nearly all of them append. Which of the `stems` is the name of an entry, the cipher of names tells: no other one
/// decrypts.
///
/// Sources: Syncthing, lib/model/folder_sendrecv.go, conflictName; Nextcloud desktop, src/common/utility.cpp,
/// makeConflictFileName; Dropbox, help page 'What is a conflicted copy'.
public struct ConflictCopy: Hashable, Sendable {
    /// As "2026-11-24"; nil if the name has none.
    public let day: String?
    /// As "10.11.12"; nil if the name has none.
    public let time: String?
    /// The machine, as the program calls it; nil if the name has none.
    public let machine: String?

    /// The words that may follow the stem are at most this long, in bytes.
    public static let longestTail = 200

    /// What the added words say.
    public init(words: [UInt8]) {
        let text = String(decoding: words, as: UTF8.self)
        let date = Self.date(in: text)
        day = date?.day
        time = date?.time
        machine = Self.machine(in: text, after: date?.end)
    }

    /// A version that no program has put aside, by the time of its last change.
    ///
    /// - Parameter seconds: since 1970.
    public init(changed seconds: Int64) {
        day = Self.day(of: seconds)
        time = nil
        machine = nil
    }

    /// By the algorithm civil_from_days of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"; nil outside
    /// of the years 1970 to 2999.
    private static func day(of seconds: Int64) -> String? {
        guard 0..<32_503_680_000 ~= seconds else { return nil }
        let days = seconds / 86_400 + 719_468
        let era = days / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    }

    /// The names that a program may have made `name` from, with the words that it has added, the likeliest first.
    ///
    /// - Parameter name: a foreign name; of others there are none.
    public static func stems(of name: [UInt8]) -> [(stem: [UInt8], words: [UInt8])] {
        var found: [(stem: [UInt8], words: [UInt8])] = []
        func note(_ range: Range<Int>) {
            guard range.lowerBound > 0, range.count <= longestTail else { return }
            let stem = Array(name[..<range.lowerBound] + name[range.upperBound...])
            switch BackingName(stem) {
            case .entry, .longEntry, .reserved:
                if !found.contains(where: { $0.stem == stem }) { found.append((stem, Array(name[range]))) }
            case .temporary, .sidecar, .foreign: break
            }
        }
        if let range = syncthingRange(in: name) { note(range) }
        if let range = parenthesisRange(in: name) { note(range) }
        // Behind a name without an extension. Words may begin with characters that base64url has too, but not with a
        // letter: of a folder full of foreign names, each costs a few attempts.
        let plain = name.prefix { isBase64URL($0) }.count
        for end in stride(from: plain, through: smallestStem, by: -1) where end < name.count {
            if end == plain || [UInt8(ascii: "-"), UInt8(ascii: "_")].contains(name[end]) { note(end..<name.count) }
        }
        return found
    }

    /// Of a ciphertext of 17 bytes, in base64url.
    private static let smallestStem = 23

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// `.sync-conflict-20261124-101112-ABCDEFG`
    private static func syncthingRange(in name: [UInt8]) -> Range<Int>? {
        let mark = Array(".sync-conflict-".utf8)
        guard name.count >= mark.count,
            let start = (0...name.count - mark.count).first(where: { name[$0...].starts(with: mark) })
        else { return nil }
        let end = name[(start + mark.count)...].firstIndex(of: UInt8(ascii: ".")) ?? name.count
        return start..<end
    }

    /// ` (Ada's conflicted copy 2026-11-24)`, with the blank before it.
    private static func parenthesisRange(in name: [UInt8]) -> Range<Int>? {
        guard let end = name.lastIndex(of: UInt8(ascii: ")")),
            var start = name[..<end].lastIndex(of: UInt8(ascii: "("))
        else { return nil }
        if start > 0, name[start - 1] == UInt8(ascii: " ") { start -= 1 }
        return start..<end + 1
    }

    // MARK: Words

    /// The first date, and the time if it follows: 2026-11-24, 20261124, 2026-11-24 101112, 2026-11-24-10-11-12.
    private static func date(in text: String) -> (day: String, time: String?, end: String.Index)? {
        var rest = text[...]
        while let start = rest.firstIndex(where: \.isASCIIDigit) {
            rest = rest[start...]
            var scanner = rest
            if let year = number(4, &scanner), "1970"..."2999" ~= year, let month = number(2, &scanner, after: "-"),
                "01"..."12" ~= month, let day = number(2, &scanner, after: "-"), "01"..."31" ~= day
            {
                var later = scanner
                var time: String?
                if let separator = later.first, " -_T".contains(separator) {
                    later = later.dropFirst()
                    if let hour = number(2, &later), "00"..."23" ~= hour,
                        let minute = number(2, &later, after: "-.:"), "00"..."59" ~= minute
                    {
                        scanner = later
                        let second = number(2, &later, after: "-.:")
                        if second != nil { scanner = later }
                        time = [hour, minute, second].compactMap { $0 }.joined(separator: ".")
                    }
                }
                return ("\(year)-\(month)-\(day)", time, scanner.startIndex)
            }
            rest = rest.drop { $0.isASCIIDigit }
        }
        return nil
    }

    private static func number(_ count: Int, _ text: inout Substring, after separators: String = "") -> String? {
        var scanner = text
        if let first = scanner.first, separators.contains(first) { scanner = scanner.dropFirst() }
        let digits = scanner.prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        text = scanner.dropFirst(count)
        return String(digits)
    }

    private static func machine(in text: String, after date: String.Index?) -> String? {
        // Syncthing: the first seven characters of the device's ID, behind the date.
        if text.hasPrefix(".sync-conflict-"), let date, text[date...].first == "-" {
            return cleaned(text[date...].dropFirst())
        }
        // Dropbox: (laptop-2's conflicted copy 2026-11-24). Others: (conflicted copy from laptop-2 2026-11-24).
        let inner = text.drop { $0 == " " || $0 == "(" }
        for mark in ["'s conflicted copy", "\u{2019}s conflicted copy"] {
            if let range = inner.firstRange(of: mark) { return cleaned(inner[..<range.lowerBound]) }
        }
        if let range = inner.firstRange(of: "copy from ") {
            let rest = inner[range.upperBound...]
            let end = date.map { min(max($0, rest.startIndex), rest.endIndex) } ?? rest.endIndex
            let words = rest[..<end].prefix { $0 != ")" }
            return cleaned(words.split(separator: " ").first ?? "")
        }
        return nil
    }

    /// What can be part of a name that a person reads.
    private static func cleaned(_ words: Substring) -> String? {
        let kept = words.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
            default: scalar != "/" && scalar != "(" && scalar != ")"
            }
        }
        let name = String(String.UnicodeScalarView(kept)).prefix(40)
        return name.allSatisfy { $0 == " " } ? nil : String(name)
    }

    // MARK: The name that is shown

    /// As `report (conflict of 2026-11-24 on laptop-2).odt`, at most `longest` bytes. A version of a version is one of
    /// the entry that both are versions of.
    ///
    /// - Parameters:
    ///   - trueName: the entry's name, in bytes, which need not be UTF-8.
    ///   - number: 1 for the first name to try; each further one is another name.
    public func shownName(of trueName: [UInt8], number: Int, longest: Int = 255) -> [UInt8] {
        let trueName = Self.trueName(ofShown: trueName) ?? trueName
        let day = day.map { " of \($0)" } ?? ""
        let time = number > 1 ? time.map { " \($0)" } ?? "" : ""
        let place = machine.map { " on \($0)" } ?? ""
        // The time alone often tells two of one day apart.
        let count = number > 2 || (number == 2 && time.isEmpty) ? " \(number)" : ""
        let words = Array(" (conflict\(day)\(time)\(place)\(count))".utf8)
        let dot = trueName.lastIndex(of: UInt8(ascii: ".")) ?? 0
        // A name that begins with a dot is hidden, and has no extension by that.
        let hasExtension = dot > 0 && trueName.count - dot <= Self.longestExtension
        let (base, suffix) = hasExtension ? (trueName[..<dot], trueName[dot...]) : (trueName[...], [][...])
        var room = max(1, longest - words.count - suffix.count)
        guard base.count > room else { return base + words + suffix }
        // Not in the middle of a character.
        while room > 1, base[base.startIndex + room] & 0xC0 == 0x80 { room -= 1 }
        return base.prefix(room) + words + suffix
    }

    /// The name of the entry that a name such as `report (conflict of 2026-11-24).odt` is shown for; nil if the name is
    /// no such name. If the entry's name is long, it may be the beginning of it only.
    public static func trueName(ofShown name: [UInt8]) -> [UInt8]? {
        guard let end = name.lastIndex(of: UInt8(ascii: ")")), let start = name[..<end].lastIndex(of: UInt8(ascii: "("))
        else { return nil }
        let suffix = name[(end + 1)...]
        guard suffix.isEmpty || (suffix.first == UInt8(ascii: ".") && suffix.count <= longestExtension),
            name[start..<end].starts(with: "(conflict of ".utf8), start > 1, name[start - 1] == UInt8(ascii: " "),
            date(in: String(decoding: name[start..<end], as: UTF8.self)) != nil
        else { return nil }
        let inner = name[..<(start - 1)] + suffix
        return trueName(ofShown: Array(inner)) ?? Array(inner)
    }

    /// With its dot, in bytes.
    private static let longestExtension = 17
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
