extension FileHeader {
    /// The fields of a damaged header that a repair can use. Nothing proves them.
    public struct Unverified: Sendable {
        public let file: FileIdentifier
        /// Length and first sparse block are only hints.
        public let length: UInt64
        public let firstSparseBlock: UInt64
        private let wraps: [UInt8]

        /// - Parameter bytes: at least 512 bytes.
        public init(of bytes: RawSpan) throws(FormatError) {
            guard bytes.byteCount >= FileHeader.byteCount else { throw .tooShort }
            file = FileIdentifier(bytes, at: 40)
            length = bytes.integer(at: FileHeader.provisionalLengthOffset, as: UInt64.self)
            firstSparseBlock = bytes.integer(at: FileHeader.firstSparseBlockOffset, as: UInt64.self)
            wraps = bytes.array(FileHeader.wrapOffset..<FileHeader.signedByteCount)
        }

        /// The first `count` bytes of the wraps; `count` is at most `largestWrap`.
        public func wrap(count: Int) -> [UInt8] { Array(wraps.prefix(count)) }
    }
}
