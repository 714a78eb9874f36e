public import Posix
public import Store

/// A store that cannot reserve space, as some cannot: each opening would write a journal of some megabytes.
public typealias UnallocatingStore = InterceptingStore<Unallocating>

extension InterceptingStore where Hook == Unallocating {
    /// - Parameter root: a folder of `base` that is the root of this store; nil for the base's own.
    public convenience init(_ base: any Store, root: Descriptor? = nil) {
        self.init(base, root: root, hook: Unallocating(), orderedDevice: base.orderedDevice)
    }
}

/// Refuses to reserve space.
public final class Unallocating: Interceptor {
    public func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if operation.kind == .allocate { throw .EOPNOTSUPP }
        return try proceed()
    }
}
