import Control
import Crypto
import Failure
import Posix

extension Secret {
    /// The most bytes of a passcode, and of a recovery key's text.
    static let lengthLimit = 1024

    /// Reads a secret that a client has passed, to its end and without a final newline.
    ///
    /// The bytes are read directly into locked memory.
    ///
    /// - Parameter patience: how long the client may take to write it.
    /// - Throws: `passcodeLength` for none at all and for more than 1024 bytes; `failed` if it cannot be read.
    static func read(
        from descriptor: Descriptor, patience: Duration = .seconds(10)
    ) throws(Failure) -> Secret {
        let deadline = BootClock.now + patience
        do {
            // Room for a newline, and for one more byte that shows that the secret is too long.
            var buffer = try Secret(count: lengthLimit + 2)
            var count = 0
            while count < buffer.count {
                guard try !Poll.readable([descriptor], timeout: deadline - BootClock.now).isEmpty else {
                    throw Failure.secretNotInTime
                }
                let got = try buffer.withMutableBytes { bytes throws(Errno) in
                    var rest = bytes._mutatingExtracting(droppingFirst: count)
                    return try descriptor.read(into: &rest)
                }
                if got == 0 { break }
                count += got
            }
            if count > 0, buffer.withBytes({ unsafe $0.unsafeLoad(fromByteOffset: count - 1, as: UInt8.self) }) == 10 {
                count -= 1
            }
            guard (1...lengthLimit).contains(count) else { throw Failure.passcodeLength(bytes: count) }
            return try buffer.slice(0..<count)
        } catch let error as Failure {
            throw error
        } catch let error as CryptoError {
            throw .crypto(error)
        } catch {
            throw .failed(reason: "cannot read the passcode: \(error)")
        }
    }
}
