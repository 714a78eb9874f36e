import Dispatch
import Foundation
import Posix
import Synchronization
import TestSupport

/// Runs tasks one at a time, and chooses at each scheduling point which one goes on: by a seed, so that a schedule can
/// be repeated. Time passes only here.
///
/// All of the simulation's state is used by the task that runs, and by no other: so it needs no locks.
final class Scheduler: @unchecked Sendable {
    /// A thread of a process.
    final class Task: @unchecked Sendable {
        let name: String
        fileprivate(set) var process: Process?
        fileprivate let gate = DispatchSemaphore(value: 0)
        fileprivate var wakes = Duration.zero
        fileprivate var condition: (() -> Bool)?
        /// A call that takes effect when the task wakes, whatever becomes of its process.
        fileprivate var isFlying = false
        fileprivate var isDone = false

        fileprivate init(_ name: String, of process: Process?) {
            self.name = name
            self.process = process
        }
    }

    private(set) var random: SeededRandom
    private(set) var now = Duration.zero
    private(set) var steps = 0
    private var tasks: [Task] = []
    private var running: Task?
    private let end = DispatchSemaphore(value: 0)
    private(set) var failure: String?
    /// What happens beside the tasks, at scheduling points.
    var chance: () -> Void = {}

    private static let mostSteps = 30_000
    static let threads = ThreadPool()

    init(seed: UInt64) { random = SeededRandom(seed) }

    func number(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    func isLucky(_ chances: Int, of all: Int) -> Bool { number(below: all) < chances }

    // MARK: Tasks

    func start(_ name: String, of process: Process?, _ body: @escaping @Sendable () -> Void) {
        let task = Task(name, of: process)
        tasks.append(task)
        Self.threads.run { [self] in
            task.gate.wait()
            body()
            task.isDone = true
            tasks.removeAll { $0 === task }
            passOn()
        }
    }

    /// Runs until all tasks have ended.
    func run() {
        passOn()
        end.wait()
    }

    /// The running task is a thread of a process meanwhile.
    func run<Answer>(as process: Process, _ body: () -> Answer) -> Answer {
        let task = running
        task?.process = process
        defer { task?.process = nil }
        return body()
    }

    func fail(_ words: String) { failure = failure ?? words }

    // MARK: Scheduling points

    /// Another task may go on first.
    func point() {
        guard let task = running else { return }
        switchFrom(task)
    }

    func sleep(for time: Duration) {
        guard let task = running else { return }
        task.wakes = now + time
        switchFrom(task)
    }

    func wait(until condition: @escaping () -> Bool) {
        guard let task = running else { return }
        task.condition = condition
        switchFrom(task)
        task.condition = nil
    }

    /// A call whose effect comes within a time. Its process may be stopped meanwhile.
    func fly(atMost time: Duration) {
        guard let task = running else { return }
        if isLucky(1, of: 10) { task.wakes = now + .milliseconds(number(below: Int(time / .milliseconds(1)))) }
        task.isFlying = true
        switchFrom(task)
        task.isFlying = false
    }

    private func switchFrom(_ task: Task) {
        steps += 1
        if steps > Self.mostSteps, failure == nil {
            failure = "does not end: " + tasks.map { "\($0.name) sleeps until \($0.wakes)" }.joined(separator: ", ")
        }
        chance()
        guard let next = pick() else { return fail("nothing can go on") }
        guard next !== task else { return }
        running = next
        next.gate.signal()
        task.gate.wait()
    }

    private func passOn() {
        running = nil
        guard !tasks.isEmpty, let next = pick() else {
            end.signal()
            return
        }
        running = next
        next.gate.signal()
    }

    private func pick() -> Task? {
        while true {
            let ready = tasks.filter(canRun)
            if !ready.isEmpty {
                // Time passes also while something could run: a machine is slow.
                if isLucky(1, of: 30) { passTime() }
                return ready[number(below: ready.count)]
            }
            let times = tasks.filter { $0.condition == nil || $0.process?.isStopped(at: now) == true }
                .map { $0.isFlying ? $0.wakes : max($0.wakes, $0.process?.stoppedUntil ?? .zero) }
            // With a failure, all ends: each call fails then.
            guard let next = times.filter({ $0 > now }).min() else {
                if failure == nil {
                    failure = "deadlock of " + tasks.map(\.name).joined(separator: ", ")
                    continue
                }
                return tasks.first
            }
            now = next
        }
    }

    /// Calls on their way take effect in time.
    private func passTime() {
        let end = tasks.lazy.filter(\.isFlying).map(\.wakes).min() ?? .seconds(1 << 40)
        now = max(now, min(now + .milliseconds(number(below: 3000)), end))
    }

    private func canRun(_ task: Task) -> Bool {
        if failure != nil { return true }
        // What is on its way arrives, also if who has sent it is stopped.
        if task.isFlying { return task.wakes <= now }
        if let process = task.process, process.isStopped(at: now) { return false }
        return task.wakes <= now && task.condition?() != false
    }
}

/// Threads that are used again.
final class ThreadPool: Sendable {
    private final class Worker: @unchecked Sendable {
        let gate = DispatchSemaphore(value: 0)
        var body: (@Sendable () -> Void)?
    }
    private let idle = Mutex<[Worker]>([])

    func run(_ body: @escaping @Sendable () -> Void) {
        let worker = idle.withLock { $0.popLast() } ?? make()
        worker.body = body
        worker.gate.signal()
    }

    private func make() -> Worker {
        let worker = Worker()
        let thread = Thread { [self] in
            while true {
                worker.gate.wait()
                worker.body?()
                worker.body = nil
                idle.withLock { $0.append(worker) }
            }
        }
        thread.stackSize = 1 << 18
        thread.start()
        return worker
    }
}
