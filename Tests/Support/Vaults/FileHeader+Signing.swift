public import Format
public import Keybag

extension FileHeader {
    /// The 512 bytes, MAC included.
    public func signed(by keys: VolumeKeys) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.signedByteCount)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            encode(into: &span)
        }
        return bytes + keys.headers.tag(of: bytes)
    }
}
