import Crypto
import Format
import Keybag
import Posix
import Store

extension Journal {
    /// Writes the head as `change` leaves it, durably.
    func changeHead(_ change: (inout JournalHead) -> Void) throws(Errno) {
        let head = state.withLock { state in
            change(&state.head)
            return state.head
        }
        try write(head)
    }

    /// Writes a head, durably, and with it what was appended.
    func write(_ head: JournalHead) throws(Errno) {
        let bytes = JournalHead.signed(head, keys)
        do throws(Errno) { try unsafe store.write(bytes.span.bytes, to: file, at: 0) } catch {
            if ![.ENOSPC, .EDQUOT, .notAnswered].contains(error) { state.withLock { $0.failure = error } }
            throw error
        }
        state.withLock { state in
            state.isSealed = true
            try? stampAnew(&state)
        }
        try synchronize()
    }

    var head: JournalHead { state.withLock { $0.head } }
}

extension JournalHead {
    /// The 512 bytes of a head.
    package static func signed(_ head: JournalHead, _ keys: VolumeKeys) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            head.encode(into: &span)
        }
        let tag = unsafe keys.journal.tag(of: bytes.span.bytes.extracting(0..<signedByteCount))
        bytes.replaceSubrange(signedByteCount..., with: tag)
        return bytes
    }
}
