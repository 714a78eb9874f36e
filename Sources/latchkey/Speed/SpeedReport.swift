import Crypto
import Keybag

/// The speed of the operations that a vault needs.
struct SpeedReport: Encodable {
    struct Guess: Encodable {
        let seconds: Double
        let memoryKiB: UInt32
        let passes: UInt32
        let lanes: UInt32
    }

    let usesAESInstructions: Bool
    /// AES-256-GCM, in blocks like those of files, each with a nonce of its own.
    let sealedBytesPerSecond: Double
    let openedBytesPerSecond: Double
    /// AES-256-SIV, for names of `nameCount` bytes.
    let namesPerSecond: Double
    /// Argon2id at the cost that a new vault gets.
    let argon2id: Guess
    /// Nil if nothing can be mounted here.
    let requests: RequestSpeed?

    static let blockCount = 4096
    static let nameCount = 20

    /// Takes about four seconds.
    static func measured() throws(CryptoError) -> SpeedReport {
        let (sealed, opened) = try blocks()
        return SpeedReport(
            usesAESInstructions: try Processor.usesAESInstructions(), sealedBytesPerSecond: sealed,
            openedBytesPerSecond: opened, namesPerSecond: try names(), argon2id: try guess(),
            requests: try? RequestSpeed.measured())
    }

    /// How often `body` runs in a second; its argument is the number of the run. Measures long enough that a short load
    /// by other programs does not matter.
    private static func rate(_ body: (UInt64) throws(CryptoError) -> Void) throws(CryptoError) -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        var count: UInt64 = 0
        while true {
            for _ in 0..<256 {
                try body(count)
                count += 1
            }
            let taken = clock.now - start
            if taken >= .milliseconds(400) { return Double(count) / (taken / .seconds(1)) }
        }
    }

    private static func blocks() throws(CryptoError) -> (sealed: Double, opened: Double) {
        var cipher = try BlockCipher()
        let key = try Secret(random: 32)
        let plain = [UInt8](repeating: 0x4C, count: blockCount)
        let associated = [UInt8](repeating: 0, count: 40)
        var sealed = [UInt8](repeating: 0, count: blockCount + BlockCipher.tagSize)
        var opened = plain
        var nonce = [UInt8](repeating: 0, count: BlockCipher.nonceSize)

        try cipher.setKey(key, for: .seal)
        let sealing = try rate { (number) throws(CryptoError) in
            for index in 0..<8 { nonce[index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index))) }
            var elements = sealed.mutableSpan
            var output = unsafe elements.mutableBytes
            try cipher.seal(
                unsafe plain.span.bytes, nonce: unsafe nonce.span.bytes,
                associatedData: unsafe associated.span.bytes, into: &output)
        }
        try cipher.setKey(key, for: .open)
        let opening = try rate { (_) throws(CryptoError) in
            var elements = opened.mutableSpan
            var output = unsafe elements.mutableBytes
            try cipher.open(
                unsafe sealed.span.bytes, nonce: unsafe nonce.span.bytes,
                associatedData: unsafe associated.span.bytes, into: &output)
        }
        return (sealing * Double(blockCount), opening * Double(blockCount))
    }

    private static func names() throws(CryptoError) -> Double {
        let cipher = try DeterministicCipher(key: try Secret(random: 64))
        let name = [UInt8](repeating: 0x6E, count: nameCount)
        let directory = [UInt8](repeating: 0, count: 16)
        return try rate { (_) throws(CryptoError) in
            _ = try unsafe cipher.seal(name.span.bytes, associatedData: directory.span.bytes)
        }
    }

    private static func guess() throws(CryptoError) -> Guess {
        let cost = try Argon2Cost.calibrated()
        let clock = ContinuousClock()
        let start = clock.now
        _ = try Argon2id.derive(try Secret(count: 16), salt: try Secret(count: 32), cost: cost, count: 32)
        let taken = clock.now - start
        return Guess(
            seconds: taken / .seconds(1), memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes)
    }
}
