// Little-endian fields of the vault format, read and written at fixed offsets.

extension RawSpan {
    /// The unsigned integer at `offset`, little-endian; traps when it does not lie within the span.
    func integer<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
        // Every bit pattern of an unsigned integer is a value, so the load cannot make an invalid one.
        T(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// A copy of the bytes in `range`.
    public func array(_ range: Range<Int>) -> [UInt8] {
        var bytes = [UInt8]()
        bytes.reserveCapacity(range.count)
        for offset in range { bytes.append(integer(at: offset, as: UInt8.self)) }
        return bytes
    }

    /// Whether every byte in `range` is zero.
    public func isZero(_ range: Range<Int>) -> Bool {
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound {
            if integer(at: offset, as: UInt64.self) != 0 { return false }
            offset += 8
        }
        while offset < range.upperBound {
            if integer(at: offset, as: UInt8.self) != 0 { return false }
            offset += 1
        }
        return true
    }
}

extension MutableRawSpan {
    /// Writes `value` at `offset`, little-endian; traps when it does not fit into the span.
    mutating func store<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }

    /// Writes `bytes` from `offset` on; traps when they do not fit into the span.
    mutating func store(_ bytes: [UInt8], at offset: Int) {
        for (index, byte) in bytes.enumerated() {
            storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
        }
    }
}
