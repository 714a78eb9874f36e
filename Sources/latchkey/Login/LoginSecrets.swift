import Crypto
import Glibc

/// The secret that the PAM module passes in standard input.
enum LoginSecrets {
    /// The old passcode and the new one of a change.
    struct Pair: ~Copyable, Sendable {
        let old: Secret
        let new: Secret
    }

    /// One passcode: everything up to the end; nil for another length than 1 to 1024 bytes.
    static func passcode() -> Secret? { all(upTo: SecretReader.largest) }

    /// Two passcodes with a NUL between them, which no passcode that was typed has.
    static func pair() -> Pair? {
        guard let both = all(upTo: 2 * SecretReader.largest + 1) else { return nil }
        let middle = both.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe $0.firstIndex(of: 0) } }
        guard let middle, 1...SecretReader.largest ~= middle,
            1...SecretReader.largest ~= both.count - middle - 1,
            let old = try? both.slice(0..<middle), let new = try? both.slice(middle + 1..<both.count)
        else { return nil }
        return Pair(old: old, new: new)
    }

    private static func all(upTo limit: Int) -> Secret? {
        guard var buffer = try? Secret(count: limit + 1) else { return nil }
        var count = 0
        while count < buffer.count {
            let received = buffer.withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { raw in
                    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: raw[count...])
                    return unsafe read(STDIN_FILENO, room.baseAddress, room.count)
                }
            }
            if received < 0, errno == EINTR { continue }
            guard received >= 0 else { return nil }
            guard received > 0 else { break }
            count += received
        }
        guard 1...limit ~= count else { return nil }
        return try? buffer.slice(0..<count)
    }
}
