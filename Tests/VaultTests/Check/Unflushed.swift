import Posix
import Store
import TestStores

/// Flushes nothing: it is a kill that the repair must survive here, and most of the time would go into that.
final class Unflushed: Interceptor {
    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        switch operation {
        case .change(.synchronize), .change(.synchronizeAll):
            if let done = () as? Result { return done }
        default: break
        }
        return try proceed()
    }
}
