import Glibc
import Posix
import Store

extension StoreProbe {
    private static let attribute = "user.latchkey.probe"
    /// Linux's limit of a value, in bytes.
    private static let largestAttribute = 65_536

    func tryAttributes() {
        preparing(.userAttributes) { () throws(Errno) in
            try make("attributes")
            let file = try open("attributes")
            note(.userAttributes) { () throws(Errno) in
                try store.setAttribute(Self.attribute, to: [1], of: file)
                return try store.attribute(Self.attribute, of: file) == [1] ? .yes : .no
            }
        }
    }

    /// By halves, with at most 17 values.
    func tryAttributeSizes() {
        guard facts[.userAttributes].isYes else { return }
        preparing(.attributeBytes) { () throws(Errno) in
            let file = try open("attributes")
            var (taken, refused, size) = (1, Self.largestAttribute + 1, Self.largestAttribute)
            while taken + 1 < refused {
                if takes(size, file) { taken = size } else { refused = size }
                size = (taken + refused) / 2
            }
            facts[.attributeBytes] = .number(taken)
        }
    }

    private func takes(_ size: Int, _ file: Descriptor) -> Bool {
        let value = [UInt8](repeating: UInt8(ascii: "v"), count: size)
        guard (try? store.setAttribute(Self.attribute, to: value, of: file)) != nil else { return false }
        return (try? store.attribute(Self.attribute, of: file)) == value
    }

    /// An odd second with a number of nanoseconds that no coarser grain can hold.
    private static let time = Timespec(seconds: 1_000_000_001, nanoseconds: 123_456_789)

    func tryTimes() {
        preparing(.setTimes, .timeGrain) { () throws(Errno) in
            try make("times")
            let file = try open("times", O_WRONLY)
            note(.setTimes) { () throws(Errno) in
                try store.setTimes(accessed: .keep, modified: .at(Self.time), of: file)
                return .yes
            }
            guard facts[.setTimes].isYes else { return }
            let told = try store.status(of: "times", in: folder).modified
            guard abs(told.seconds - Self.time.seconds) <= 2 else { return facts[.setTimes] = .no }
            facts[.timeGrain] = .number(Self.grain(of: told))
        }
    }

    /// The coarsest grain, in nanoseconds, that leaves this of `time`.
    static func grain(of told: Timespec) -> Int64 {
        guard told.nanoseconds != 0 else { return told.seconds % 2 == 0 ? 2_000_000_000 : 1_000_000_000 }
        var grain: Int64 = 1
        while Int64(told.nanoseconds) % (grain * 10) == 0 { grain *= 10 }
        return grain
    }
}
