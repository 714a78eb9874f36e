/// One line of the form `key = value`, and in which line of the text the key stands.
struct TOMLEntry: Hashable {
    let key: String
    let line: Int
    let value: TOMLValue
}

enum TOMLValue: Hashable {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case strings([String])
}

struct TOMLError: Error, Hashable {
    let line: Int
    /// No capital at the beginning, no full stop at the end.
    let problem: String
}
