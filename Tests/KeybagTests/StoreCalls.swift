import Posix
import Store
import Synchronization
import TestStores

/// Notes the successful calls of some kinds, in order.
final class StoreCalls: Interceptor {
    private let kinds: Set<Operation.Kind>
    private let noted = Mutex<[Operation.Kind]>([])

    init(_ kinds: Set<Operation.Kind>) { self.kinds = kinds }

    var made: [Operation.Kind] { noted.withLock { $0 } }

    func forget() { noted.withLock { $0 = [] } }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let result = try proceed()
        if kinds.contains(operation.kind) { noted.withLock { $0.append(operation.kind) } }
        return result
    }
}
