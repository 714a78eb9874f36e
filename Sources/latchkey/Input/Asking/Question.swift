import Posix
import Synchronization

/// A question to a person who sits at no terminal.
struct Question {
    /// As before a field, "Passcode".
    let label: String
    /// What is asked for, as in "Passcode of /home/ann/vault": printable, and short enough for a dialogue.
    let text: Printable
    /// Why it is asked again, as a sentence.
    let complaint: Printable?

    /// In Unicode scalars: longer texts lose their middle. It fits into a line of Assuan's with its 1000 bytes.
    static let largest = 200

    init(_ subject: SecretSource.Subject) {
        label = Self.capitalized(subject.name)
        text = Self.shortened(subject.prompt + (subject.isRepeated ? ", the same again" : ""))
        complaint = Complaint.take().map { Self.shortened(Self.sentence($0.text)) }
    }

    /// Complaint and text in one line.
    var line: Printable { complaint.map { "\($0) \(text): " } ?? "\(text): " }

    private static func sentence(_ text: String) -> String { capitalized(text) + (text.hasSuffix(".") ? "" : ".") }

    private static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    private static func shortened(_ text: String) -> Printable {
        // Some dialogues take a text with these for HTML or Pango markup.
        let plain = text.replacing("&", with: "\\x26").replacing("<", with: "\\x3c")
        let scalars = plain.unicodeScalars
        guard scalars.count > largest else { return Printable(verbatim: plain) }
        let half = largest / 2
        return Printable(verbatim: "\(String(scalars.prefix(half))) … \(String(scalars.suffix(half)))")
    }
}

/// Why the next secret is asked for once more. A terminal shows it above the question; other ways show it with it.
///
/// A process asks one question at a time.
enum Complaint {
    private static let next = Mutex<Printable?>(nil)

    /// Shows it on standard error, and with the next question.
    static func say(_ text: Printable, onError shown: Printable) {
        Standard.error(shown)
        next.withLock { $0 = text }
    }

    static func take() -> Printable? { next.withLock { $0.take() } }
}
