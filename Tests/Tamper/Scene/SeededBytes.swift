extension [UInt8] {
    /// Bytes that look random and are the same in every run, in two versions for each path.
    public init(of path: String, version: Int, count: Int) {
        var state = path.utf8.reduce(UInt64(version) &* 0x9e37_79b9_7f4a_7c15 | 1) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        self.init(repeating: 0, count: count)
        for index in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            // None is zero, so that contents differ from a hole.
            self[index] = UInt8(truncatingIfNeeded: state >> 24) | 1
        }
    }
}
