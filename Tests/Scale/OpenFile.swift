import Glibc
import Posix
import Synchronization
import TestSupport

/// One file and its expected contents: the number of times that each unit of 1 KiB was written.
@safe
final class OpenFile: @unchecked Sendable {  // unchecked: `state` is guarded by `lock`
    private static let unitsInStripe = 32
    private static let stripeCount = 4
    private static let units = unitsInStripe * stripeCount

    private let number: Int
    private let folder: String
    /// Shared while contents are used, exclusive while the file itself is changed.
    private let lock = ReadWriteLock()
    private var state: State
    /// A part that one thread at a time uses.
    private let stripes: [Stripe]

    private struct State {
        var descriptor: Descriptor
        var renames = 0
    }

    private final class Stripe: Sendable {
        let versions = Mutex<[UInt32]>(Array(repeating: 0, count: OpenFile.unitsInStripe))
    }

    init(_ number: Int, in folder: String) throws {
        self.number = number
        self.folder = folder
        stripes = (0..<Self.stripeCount).map { _ in Stripe() }
        state = State(
            descriptor: try Descriptor.open(path: "\(folder)/\(number) 0", O_RDWR | O_CREAT | O_EXCL, mode: 0o644))
        try state.descriptor.truncate(to: Int64(Self.units * Pattern.unit))
    }

    private var path: String { "\(folder)/\(number) \(state.renames)" }

    /// Does something at random.
    func act(_ random: inout SeededRandom) throws {
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<450: try useStripe(&random, read)
        case 450..<900: try useStripe(&random, write)
        case 900..<950: try useStripe(&random, map)
        case 950..<960: try lock.withShared { try state.descriptor.synchronize(dataOnly: true) }
        case 960..<980: try lock.withExclusive { try reopen() }
        case 980..<990: try lock.withExclusive { try rename() }
        default:
            let units = Int.random(in: 0..<Self.units, using: &random)
            try lock.withExclusive { try truncate(to: units) }
        }
    }

    private func useStripe(
        _ random: inout SeededRandom, _ body: (_ first: Int, inout ArraySlice<UInt32>) throws -> Void
    ) throws {
        let index = Int.random(in: 0..<Self.stripeCount, using: &random)
        let start = Int.random(in: 0..<Self.unitsInStripe, using: &random)
        let end = min(Self.unitsInStripe, start + Int.random(in: 1...16, using: &random))
        try lock.withShared {
            try stripes[index].versions.withLock { versions in
                try body(index * Self.unitsInStripe + start, &versions[start..<end])
            }
        }
    }

    private func read(_ first: Int, _ versions: inout ArraySlice<UInt32>) throws {
        try state.descriptor.check(
            Pattern.words(file: number, from: first, versions: versions), at: first * Pattern.unit, path)
    }

    private func write(_ first: Int, _ versions: inout ArraySlice<UInt32>) throws {
        // The version has 12 bits in the pattern.
        for index in versions.indices { versions[index] = versions[index] % 4095 + 1 }
        try state.descriptor.write(
            Pattern.words(file: number, from: first, versions: versions), at: first * Pattern.unit)
    }

    private func map(_ first: Int, _ versions: inout ArraySlice<UInt32>) throws {
        let expected = Pattern.words(file: number, from: first, versions: versions)
        let length = Self.units * Pattern.unit
        guard let memory = unsafe mmap(nil, length, PROT_READ, MAP_SHARED, state.descriptor.number, 0),
            unsafe memory != MAP_FAILED
        else { throw Errno.current }
        defer { unsafe munmap(memory, length) }
        let found = unsafe UnsafeRawBufferPointer(
            start: memory + first * Pattern.unit, count: versions.count * Pattern.unit
        ).withMemoryRebound(to: UInt64.self) { unsafe Array($0) }
        guard found == expected else { throw WrongByte(description: "\(path): mapped, from unit \(first)") }
    }

    private func reopen() throws {
        let status = try state.descriptor.status()
        guard status.size == Self.units * Pattern.unit else {
            throw WrongByte(description: "\(path): \(status.size) bytes")
        }
        state.descriptor = try Descriptor.open(path: path, O_RDWR)
    }

    private func rename() throws {
        let old = path
        state.renames += 1
        guard unsafe Glibc.rename(old, path) == 0 else { throw Errno.current }
    }

    private func truncate(to units: Int) throws {
        try state.descriptor.truncate(to: Int64(units * Pattern.unit))
        try state.descriptor.truncate(to: Int64(Self.units * Pattern.unit))
        for (index, stripe) in stripes.enumerated() {
            stripe.versions.withLock { versions in
                for unit in versions.indices where index * Self.unitsInStripe + unit >= units { versions[unit] = 0 }
            }
        }
    }

    /// Checks all of it, found by its path.
    func verify() throws {
        try lock.withExclusive {
            let file = try Descriptor.open(path: path, O_RDONLY)
            for (index, stripe) in stripes.enumerated() {
                let first = index * Self.unitsInStripe
                let expected = stripe.versions.withLock { Pattern.words(file: number, from: first, versions: $0) }
                try file.check(expected, at: first * Pattern.unit, path)
            }
        }
    }
}
