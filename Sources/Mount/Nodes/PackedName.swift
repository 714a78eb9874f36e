import Posix

/// A name in 16 bytes if it is as short as most are: an array takes 64.
enum PackedName: Hashable, Sendable {
    case short(UInt64, UInt32, UInt16, count: UInt8)
    case long(Name)

    static let mostBytes = 14

    init(_ name: Name) {
        guard name.bytes.count <= Self.mostBytes else {
            self = .long(name)
            return
        }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in name.bytes.enumerated() {
            if index < 8 {
                words.0 |= UInt64(byte) << (8 * index)
            } else {
                words.1 |= UInt64(byte) << (8 * (index - 8))
            }
        }
        self = .short(
            words.0, UInt32(truncatingIfNeeded: words.1), UInt16(truncatingIfNeeded: words.1 >> 32),
            count: UInt8(name.bytes.count))
    }

    var unpacked: Name {
        switch self {
        case .long(let name): return name
        case .short(let first, let second, let third, let count):
            let last = UInt64(second) | UInt64(third) << 32
            return Name(
                bytes: (0..<Int(count)).map { index in
                    UInt8(truncatingIfNeeded: index < 8 ? first >> (8 * index) : last >> (8 * (index - 8)))
                })!
        }
    }
}
