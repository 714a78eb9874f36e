public import Format

/// The lower bounds of the numbers of blocks that a machine remembers, of files under their names. Not thread-safe.
public struct BlockTable: Sendable {
    /// How many runs are remembered at most. Beyond that, new ones are not.
    public static let most = 1 << 20
    /// Of one file.
    public static let mostOfFile = 1 << 19

    private var files: [MarkKey: BlockBounds] = [:]
    /// How many runs there are.
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { files.isEmpty }

    public subscript(key: MarkKey) -> BlockBounds? { files[key] }

    /// Takes in bounds; of two of a block, the higher one counts. If there are too many, they are left out, and this
    /// returns false.
    @discardableResult
    public mutating func raise(_ bounds: BlockBounds, of key: MarkKey) -> Bool {
        change(key, adding: bounds.count) { $0.merge(bounds) }
    }

    /// The same of what a record says.
    public mutating func take(_ record: BlockRecord) {
        guard record.run.count > 0 else {
            forget(record.key)
            return
        }
        _ = change(record.key, adding: 1) { $0.take(record.run) }
    }

    private mutating func change(_ key: MarkKey, adding runs: Int, _ body: (inout BlockBounds) -> Void) -> Bool {
        guard count + runs <= Self.most, (files[key]?.count ?? 0) + runs <= Self.mostOfFile else { return false }
        // Taken out, so that it is changed where it is.
        var bounds = files.removeValue(forKey: key) ?? BlockBounds()
        count -= bounds.count
        body(&bounds)
        count += bounds.count
        if !bounds.isEmpty { files[key] = bounds }
        return true
    }

    @discardableResult
    public mutating func forget(_ key: MarkKey) -> BlockBounds? {
        guard let bounds = files.removeValue(forKey: key) else { return nil }
        count -= bounds.count
        return bounds
    }

    public func forEach<Failure: Error>(
        _ body: (MarkKey, BlockBounds) throws(Failure) -> Void
    ) throws(Failure) {
        for (key, bounds) in files { try body(key, bounds) }
    }

    public mutating func merge(_ other: BlockTable) {
        other.forEach { key, bounds in raise(bounds, of: key) }
    }
}
