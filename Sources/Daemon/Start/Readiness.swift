public import Failure
import FoundationEssentials
import Posix

/// What a starting daemon writes to its readiness descriptor, as one line of JSON: `{"ready":true}` once it is mounted,
/// with `warnings` if there are any, or `{"ready":false,"error":{"deviceKeyMissing":{"path":...}}}`.
public struct Readiness: Codable, Hashable, Sendable {
    public var ready: Bool
    public var error: Failure?
    /// A sentence for each promise that does not hold in the store.
    public var warnings: [String]?
    /// Set if the vault is only read, and this machine has seen a newer keybag of it.
    public var hasOlderKeybag: Bool?

    static func ready(warnings: [String] = [], hasOlderKeybag: Bool = false) -> Readiness {
        Readiness(
            ready: true, warnings: warnings.isEmpty ? nil : warnings, hasOlderKeybag: hasOlderKeybag ? true : nil)
    }

    static func failed(_ error: Failure) -> Readiness {
        Readiness(ready: false, error: error)
    }

    /// Waits for the daemon's line on the reading end of the readiness pipe, and returns it.
    ///
    /// - Throws: why the daemon did not start; `endedBeforeReady` if it ended without a line.
    @discardableResult public static func wait(on descriptor: Descriptor) throws(Failure) -> Readiness {
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        do throws(Errno) {
            while !line.contains(UInt8(ascii: "\n")) {
                let count = try chunk.withReadBuffer { bytes throws(Errno) in try descriptor.read(into: &bytes) }
                if count == 0 { break }
                line += chunk.prefix(count)
            }
        } catch {
            throw .io(error, doing: "cannot hear from the daemon")
        }
        guard let readiness = try? JSONDecoder().decode(Readiness.self, from: Data(line)) else {
            throw .endedBeforeReady
        }
        if let error = readiness.error { throw error }
        return readiness
    }

    /// False if no process waits for the line any more.
    @discardableResult func write(to descriptor: Descriptor) -> Bool {
        guard let data = try? JSONEncoder().encode(self) else { return false }
        let line = Array(data) + [UInt8(ascii: "\n")]
        return (try? unsafe descriptor.write(line.span.bytes)) != nil
    }

    /// Whether a process still waits for the line on the other end of the pipe.
    static func isAwaited(on descriptor: Descriptor) -> Bool {
        // poll(2) reports a pipe without a reader as broken.
        (try? Poll.readable([descriptor], timeout: .zero))?.isEmpty ?? true
    }
}

extension [UInt8] {
    /// Lends the array as a buffer to read into.
    fileprivate mutating func withReadBuffer<Result>(
        _ body: (inout MutableRawSpan) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        var span = mutableSpan
        var bytes = unsafe span.mutableBytes
        return try body(&bytes)
    }
}
