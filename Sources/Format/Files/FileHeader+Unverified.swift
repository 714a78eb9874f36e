extension FileHeader {
    /// What a header that is damaged may still say, if the part of it that matters is whole: nothing of it is proved.
    public struct Unverified: Sendable {
        public let file: FileIdentifier
        /// The length, and where holes begin: no more than a hint.
        public let length: UInt64
        public let firstSparseBlock: UInt64
        private let wraps: [UInt8]

        /// - Parameter bytes: 512 or more.
        public init(of bytes: RawSpan) throws(FormatError) {
            guard bytes.byteCount >= FileHeader.byteCount else { throw .tooShort }
            file = FileIdentifier(bytes, at: 40)
            length = bytes.integer(at: FileHeader.provisionalLengthOffset, as: UInt64.self)
            firstSparseBlock = bytes.integer(at: FileHeader.firstSparseBlockOffset, as: UInt64.self)
            wraps = bytes.array(FileHeader.wrapOffset..<FileHeader.signedByteCount)
        }

        /// The first wrap, if it has so many bytes: at most `largestWrap`.
        public func wrap(count: Int) -> [UInt8] { Array(wraps.prefix(count)) }
    }
}
