/// One `key = value` of the text, and the line of the key.
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
    /// Without a capital at the beginning and a full stop at the end.
    let problem: String
}
