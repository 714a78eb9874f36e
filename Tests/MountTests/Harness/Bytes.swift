import Format

extension [UInt8] {
    /// "-" where there are none, as the probe writes them.
    var hexadecimal: String { isEmpty ? "-" : String(hexadecimal: self) }

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
