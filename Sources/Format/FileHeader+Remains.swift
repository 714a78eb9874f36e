extension FileHeader {
    /// What a header that is damaged may still say, if the part of it that matters is whole: nothing of it is proved.
    public struct Remains: Sendable {
        public let file: FileIdentifier
        private let wraps: [UInt8]

        /// - Parameter bytes: 512 or more.
        public init(of bytes: RawSpan) throws(FormatError) {
            guard bytes.byteCount >= FileHeader.byteCount else { throw .tooShort }
            file = FileIdentifier(bytes, at: 40)
            wraps = bytes.array(FileHeader.wrapOffset..<FileHeader.signedByteCount)
        }

        /// The first wrap, if it has so many bytes: at most `largestWrap`.
        public func wrap(count: Int) -> [UInt8] { Array(wraps.prefix(count)) }
    }
}
