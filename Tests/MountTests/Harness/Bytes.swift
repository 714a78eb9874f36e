import Format

extension [UInt8] {
    /// "-" where there are none, as the probe writes them.
    var hexadecimal: String { isEmpty ? "-" : String(hexadecimal: self) }

    /// Bytes that look random and are the same in every run.
    init(seed: Int, count: Int) {
        var state = UInt64(truncatingIfNeeded: seed) &* 0x9e37_79b9_7f4a_7c15 | 1
        self.init()
        reserveCapacity(count + 8)
        while self.count < count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            for shift in stride(from: 0, to: 64, by: 8) {
                append(UInt8(truncatingIfNeeded: state >> UInt64(shift)))
            }
        }
        removeLast(self.count - count)
    }

    func contains(_ part: [UInt8]) -> Bool {
        guard let first = part.first, count >= part.count else { return part.isEmpty }
        for start in 0...(count - part.count) where self[start] == first {
            if self[start..<start + part.count].elementsEqual(part) {
                return true
            }
        }
        return false
    }
}
