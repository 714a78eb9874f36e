/// A keybag in parts: head, records, space for the MACs.
struct KeybagBytes {
    var head: [UInt8]
    /// Type, zero, length, value.
    var records: [[UInt8]]

    init(_ bytes: [UInt8]) {
        head = Array(bytes[..<52])
        records = []
        var start = 52
        while start < bytes.count - 64 {
            let end = start + 8 + Int(bytes.integer(4, at: start + 4))
            records.append(Array(bytes[start..<end]))
            start = end
        }
    }

    /// The index of the first record of a type.
    func index(of type: UInt8) -> Int { records.firstIndex { $0[0] == type && $0[1] == 0 }! }

    /// All bytes, with the right size and zeros where the MACs belong.
    var bytes: [UInt8] {
        var bytes = head + records.flatMap { $0 } + [UInt8](repeating: 0, count: 64)
        bytes.put(UInt64(bytes.count), 4, at: 12)
        return bytes
    }

    static func record(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        Forge.bytes(UInt64(type), 2) + [0, 0] + Forge.bytes(UInt64(value.count), 4) + value
    }
}
