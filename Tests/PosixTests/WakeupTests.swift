import Glibc
import Posix
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct WakeupTests {
    private final class Count: Sendable {
        let value = Atomic(0)
    }

    @Test func `work runs no more often than it is asked for, even where poll fails`() async {
        await #expect(processExitsWith: .success) {
            let (worker, other, runs, wakeups) = (try OnDemandWorker(), try Wakeup(), Count(), 10)
            // poll(2) fails with EINVAL from here on.
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            unsafe #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect(throws: Errno.EINVAL) { try Poll.readable([other.readable]) }
            try worker.start { runs.value.add(1, ordering: .sequentiallyConsistent) }
            for _ in 0..<wakeups {
                let before = runs.value.load(ordering: .sequentiallyConsistent)
                worker.wake()
                while runs.value.load(ordering: .sequentiallyConsistent) == before { sched_yield() }
            }
            worker.stop()
            #expect(runs.value.load(ordering: .sequentiallyConsistent) == wakeups)
        }
    }
}
