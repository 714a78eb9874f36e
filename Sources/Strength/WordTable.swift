/// The ranks of common words by a hash of their bytes, so that a lookup copies nothing of the passcode.
struct WordTable: Sendable {
    static let common = WordTable(CommonWords.text)

    private let ranks: [UInt64: Int]

    /// - Parameter text: words separated by spaces, the most frequent first.
    init(_ text: StaticString) {
        var ranks: [UInt64: Int] = [:]
        text.withUTF8Buffer { bytes in
            var hash = WordHash()
            var rank = 0
            for index in 0...bytes.count {
                if index < bytes.count, unsafe bytes[index] > 32 {
                    unsafe hash.add(bytes[index])
                } else if !hash.isEmpty {
                    rank += 1
                    if ranks[hash.value] == nil { ranks[hash.value] = rank }
                    hash = WordHash()
                }
            }
        }
        self.ranks = ranks
    }

    var count: Int { ranks.count }

    /// 1 for the most frequent word; nil if the table does not contain it.
    func rank(of hash: WordHash) -> Int? { ranks[hash.value] }
}

/// FNV-1a with 64 bits: sufficient to distinguish a few thousand words, and it keeps no bytes of them.
struct WordHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) var isEmpty = true

    mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
        isEmpty = false
    }
}
