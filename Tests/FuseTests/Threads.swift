import Glibc

/// Threads that run beside the test.
struct Threads {
    private final class Job: Sendable {
        let number: Int
        let body: @Sendable (Int) -> Void

        init(_ number: Int, _ body: @escaping @Sendable (Int) -> Void) {
            self.number = number
            self.body = body
        }
    }

    private let threads: [pthread_t]

    /// Each is given its number.
    init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        threads = (0..<count).map { number in
            var thread = pthread_t()
            let job = unsafe Unmanaged.passRetained(Job(number, body))
            let result = unsafe pthread_create(
                &thread, nil,
                { job in
                    let job = unsafe Unmanaged<Job>.fromOpaque(job!).takeRetainedValue()
                    job.body(job.number)
                    return nil
                }, job.toOpaque())
            precondition(result == 0, "no thread")
            return thread
        }
    }

    func join() {
        for thread in threads { pthread_join(thread, nil) }
    }
}
