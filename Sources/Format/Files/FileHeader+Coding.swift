extension FileHeader {
    /// Decodes the first 512 bytes of `bytes`, without the MAC.
    ///
    /// - Parameter isSynchronised: of a vault in which a header names the machine that has written it.
    public init(decoding bytes: RawSpan, isSynchronised: Bool = false) throws(FormatError) {
        guard bytes.byteCount >= Self.byteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        guard bytes.integer(at: 10, as: UInt16.self) == Self.byteCount else { throw .badField("header size") }
        features = FeatureBits(bytes, at: 12)
        guard features.canRead else { throw .unknownFeature }
        volume = VolumeIdentifier(bytes, at: 24)
        file = FileIdentifier(bytes, at: 40)

        let flags = Flags(rawValue: bytes.integer(at: 57, as: UInt8.self))
        guard flags.isSubset(of: .known) else { throw .badField("flags") }
        let wrapCount = Int(bytes.integer(at: 60, as: UInt16.self))
        let pendingCount = Int(bytes.integer(at: 98, as: UInt16.self))
        guard wrapCount + pendingCount <= Self.largestWrap else { throw .badField("wrap length") }
        let wrapsEnd = Self.wrapOffset + wrapCount + pendingCount
        guard let protectionClass = ProtectionClass(rawValue: bytes.integer(at: 56, as: UInt8.self)) else {
            throw .badField("class")
        }
        numbersBlocks = flags.contains(.numberedBlocks)
        protection = FileProtection(
            protectionClass: protectionClass, isExplicit: flags.contains(.explicitClass),
            wrapAlgorithm: bytes.integer(at: 58, as: UInt8.self),
            wrap: bytes.array(Self.wrapOffset..<Self.wrapOffset + wrapCount))
        if flags.contains(.moving) {
            let pendingFlags = Flags(rawValue: bytes.integer(at: 63, as: UInt8.self))
            guard let pendingClass = ProtectionClass(rawValue: bytes.integer(at: 62, as: UInt8.self)),
                pendingFlags.isSubset(of: .explicitClass)
            else { throw .badField("second class") }
            pending = FileProtection(
                protectionClass: pendingClass, isExplicit: pendingFlags.contains(.explicitClass),
                wrapAlgorithm: bytes.integer(at: 96, as: UInt8.self),
                wrap: bytes.array(Self.wrapOffset + wrapCount..<wrapsEnd))
        } else {
            guard bytes.isZero(62..<64), bytes.isZero(96..<97), pendingCount == 0 else {
                throw .badField("second class")
            }
        }

        generation = bytes.integer(at: 64, as: UInt64.self)
        guard generation <= Self.largestGeneration else { throw .badField("generation") }
        length = bytes.integer(at: 72, as: UInt64.self)
        firstSparseBlock = bytes.integer(at: Self.firstSparseBlockOffset, as: UInt64.self)
        provisionalLength = bytes.integer(at: Self.provisionalLengthOffset, as: UInt64.self)
        guard length <= provisionalLength, provisionalLength <= Self.largestLength else { throw .badField("length") }

        let bindingCount = Int(bytes.integer(at: 59, as: UInt8.self))
        guard bindingCount <= Self.mostBindings, (bindingCount == 0) == flags.contains(.manyLinks),
            pending == nil || bindingCount > 0
        else { throw .badField("bindings") }
        bindings = (0..<bindingCount).map { NameBinding(bytes, at: Self.bindingsOffset + 16 * $0) }
        modified = try Self.time(bytes, at: Self.modifiedOffset, Self.nanosecondsOffset)
        changed = try Self.time(bytes, at: Self.changedOffset, Self.changedOffset + 8)
        written = try Self.time(bytes, at: Self.writtenOffset, Self.writtenOffset + 8)
        machine = bytes.integer(at: Self.machineOffset, as: UInt32.self)
        stamp = Int64(bitPattern: bytes.integer(at: Self.stampOffset, as: UInt64.self))
        guard bytes.isZero(97..<98), bytes.isZero(Self.bindingsOffset + 16 * bindingCount..<Self.changedOffset),
            machine == 0 || isSynchronised, bytes.isZero(340..<344),
            bytes.isZero(wrapsEnd..<Self.signedByteCount)
        else { throw .badField("reserved") }
    }

    private static func time(_ bytes: RawSpan, at seconds: Int, _ nanoseconds: Int) throws(FormatError) -> FileTime {
        let fraction = bytes.integer(at: nanoseconds, as: UInt32.self)
        guard fraction < 1_000_000_000 else { throw .badField("nanoseconds") }
        return FileTime(
            seconds: Int64(bitPattern: bytes.integer(at: seconds, as: UInt64.self)), nanoseconds: fraction)
    }

    /// Writes bytes 0 to 479 of the header; the caller appends their MAC. `bytes` has at least 480 bytes.
    public func encode(into bytes: inout MutableRawSpan) {
        precondition(bindings.count <= Self.mostBindings)
        precondition(protection.wrap.count + (pending?.wrap.count ?? 0) <= Self.largestWrap)
        for offset in stride(from: 0, to: Self.signedByteCount, by: 8) { bytes.store(UInt64(0), at: offset) }
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        bytes.store(UInt16(Self.byteCount), at: 10)
        features.store(into: &bytes, at: 12)
        volume.store(into: &bytes, at: 24)
        file.store(into: &bytes, at: 40)
        bytes.store(protection.protectionClass.rawValue, at: 56)
        bytes.store(flags.rawValue, at: 57)
        bytes.store(protection.wrapAlgorithm, at: 58)
        bytes.store(UInt8(bindings.count), at: 59)
        bytes.store(UInt16(protection.wrap.count), at: 60)
        bytes.store(generation, at: 64)
        bytes.store(length, at: 72)
        bytes.store(firstSparseBlock, at: Self.firstSparseBlockOffset)
        bytes.store(provisionalLength, at: Self.provisionalLengthOffset)
        bytes.store(modified, at: Self.modifiedOffset, Self.nanosecondsOffset)
        bytes.store(changed, at: Self.changedOffset, Self.changedOffset + 8)
        bytes.store(written, at: Self.writtenOffset, Self.writtenOffset + 8)
        bytes.store(machine, at: Self.machineOffset)
        bytes.store(UInt64(bitPattern: stamp), at: Self.stampOffset)
        for (index, binding) in bindings.enumerated() {
            binding.store(into: &bytes, at: Self.bindingsOffset + 16 * index)
        }
        bytes.store(protection.wrap, at: Self.wrapOffset)
        if let pending {
            bytes.store(pending.protectionClass.rawValue, at: 62)
            bytes.store((pending.isExplicit ? Flags.explicitClass : []).rawValue, at: 63)
            bytes.store(pending.wrapAlgorithm, at: 96)
            bytes.store(UInt16(pending.wrap.count), at: 98)
            bytes.store(pending.wrap, at: Self.wrapOffset + protection.wrap.count)
        }
    }
}

extension MutableRawSpan {
    fileprivate mutating func store(_ time: FileTime, at seconds: Int, _ nanoseconds: Int) {
        store(UInt64(bitPattern: time.seconds), at: seconds)
        store(time.nanoseconds, at: nanoseconds)
    }
}
