extension FileHeader {
    /// Tells two headers of the same generation apart, which two machines have made: 32 bits of a hash of times and
    /// lengths. The confirmed length does not count, which may grow within a generation.
    ///
    /// docs/FORMAT.md, "The file of marks".
    public var digestWithoutLength: UInt32 {
        let words: [8 of UInt64] = [
            UInt64(bitPattern: written.seconds), UInt64(bitPattern: modified.seconds),
            UInt64(bitPattern: changed.seconds), UInt64(bitPattern: stamp),
            UInt64(written.nanoseconds) << 32 | UInt64(modified.nanoseconds), UInt64(changed.nanoseconds),
            provisionalLength, firstSparseBlock,
        ]
        // FNV-1a (draft-eastlake-fnv) over words instead of bytes, with a shift so that upper bits count.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in words.indices {
            hash = (hash ^ words[index]) &* 0x100_0000_01B3
            hash ^= hash >> 32
        }
        return UInt32(truncatingIfNeeded: hash)
    }
}
