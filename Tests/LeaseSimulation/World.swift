import Posix
import Sharing

/// One schedule: machines that work with one vault, and what goes wrong meanwhile.
public final class World: @unchecked Sendable {
    static let times = LeaseTimes(lease: .seconds(6), poll: .seconds(1))
    private static let machines = 3
    private static let files = 2
    private static let mostLives = 3

    let scheduler: Scheduler
    var disk = SimulatedDisk(files: files)
    var oracle = Oracle(files: files)
    var locks = Locks()
    private var blocks = 0
    private var connections = 0
    private var living: [(process: Process, vault: SimulatedVault)] = []
    /// How many faults are still to come.
    private var faults: Int
    /// How often a process is killed, stopped or cut off, and how often the power goes, of all faults: each schedule
    /// has a kind that it meets most.
    private let weights: [Int]
    private static let allWeights = [[4, 2, 3, 1], [1, 1, 8, 0], [1, 6, 3, 0], [6, 0, 1, 3]]
    private var isCalm = false
    /// A machine that dies does no harm to others: what they do succeeds.
    private var hasKilledOnly = true
    private var working = machines
    public private(set) var counts = Counts()
    private let isTold: Bool

    /// What has happened: a schedule without such events proves little.
    public struct Counts: Sendable {
        public var kills = 0, stops = 0, cuts = 0, powerLosses = 0, requests = 0, failures = 0, joins = 0, steps = 0

        public init() {}

        public static func += (one: inout Counts, other: Counts) {
            one.kills += other.kills
            one.stops += other.stops
            one.cuts += other.cuts
            one.powerLosses += other.powerLosses
            one.requests += other.requests
            one.failures += other.failures
            one.joins += other.joins
            one.steps += other.steps
        }
    }

    /// - Parameter isTold: print what happens.
    public init(seed: UInt64, isTold: Bool = false) {
        self.isTold = isTold
        scheduler = Scheduler(seed: seed)
        faults = scheduler.number(below: 6)
        weights = Self.allWeights[scheduler.number(below: Self.allWeights.count)]
    }

    /// Runs the schedule.
    ///
    /// - Returns: what was wrong; nil if nothing was.
    public func run() -> String? {
        scheduler.chance = { [unowned self] in mayGoWrong() }
        for number in 1...Self.machines {
            scheduler.start("machine \(number)", of: nil) { [self] in live(MachineNumber(UInt64(number))) }
        }
        scheduler.run()
        counts.steps = scheduler.steps
        return scheduler.failure
    }

    // MARK: Machines

    private func live(_ machine: MachineNumber) {
        for _ in 0..<Self.mostLives where scheduler.failure == nil {
            if work(
                as: machine,
                { (vault) throws(Errno) in
                    for _ in 0..<scheduler.number(below: 5) { try request(vault) }
                })
            {
                break
            }
            scheduler.sleep(for: .seconds(scheduler.number(below: 40)))
        }
        working -= 1
        guard working == 0 else { return }
        // The last one looks at everything.
        isCalm = true
        for _ in 0..<20 where scheduler.failure == nil {
            if work(
                as: MachineNumber(UInt64(Self.machines + 1)),
                { (vault) throws(Errno) in
                    for file in 0..<Self.files { try vault.read(file) }
                    try vault.lookUp(0)
                })
            {
                return
            }
            scheduler.sleep(for: .seconds(20))
        }
        scheduler.fail("the last machine cannot read everything")
    }

    /// One life of a machine's daemon.
    ///
    /// - Returns: whether it has ended in order.
    private func work(as machine: MachineNumber, _ body: (SimulatedVault) throws(Errno) -> Void) -> Bool {
        let process = Process(of: machine, in: self)
        let vault = SimulatedVault(process)
        living.append((process, vault))
        defer { living.removeAll { $0.process === process } }
        return scheduler.run(as: process) {
            do throws(Errno) {
                try vault.join()
                counts.joins += 1
                scheduler.start("keeper of \(machine.number)", of: process) { [self] in keep(process, vault) }
                let other = isCalm ? nil : startOther(process, vault)
                try body(vault)
                if let other { try SimulatedSurroundings(process).wait { other.hasEnded } }
                try vault.leases.leave()
                process.isEnding = true
                drop(process.connection)
                return true
            } catch {
                fail(process, error)
                return false
            }
        }
    }

    private final class Program: @unchecked Sendable { var hasEnded = false }

    /// A second program that uses the vault on the same machine.
    private func startOther(_ process: Process, _ vault: SimulatedVault) -> Program {
        let program = Program()
        scheduler.start("program of \(process.machine.number)", of: process) { [self] in
            do throws(Errno) {
                for _ in 0..<scheduler.number(below: 4) { try request(vault) }
            } catch {
                fail(process, error)
            }
            program.hasEnded = true
        }
        return program
    }

    private func fail(_ process: Process, _ error: Errno) {
        // The store may not have missed yet who had the machine's number before.
        if !process.isDead, scheduler.failure == nil, hasKilledOnly, error != .EBUSY {
            scheduler.fail("machine \(process.machine.number) fails, though others have died at most: \(error)")
        }
        counts.failures += 1
        kill(process)
    }

    /// What a daemon does each now and then.
    private func keep(_ process: Process, _ vault: SimulatedVault) {
        let surroundings = SimulatedSurroundings(process)
        var next = surroundings.now
        while !process.isDead, !process.isEnding, scheduler.failure == nil {
            do throws(Errno) {
                try surroundings.pause(for: Self.times.poll)
                try vault.leases.answerWishes()
                if surroundings.now >= next {
                    next = surroundings.now + Self.times.interval
                    try vault.leases.look()
                }
            } catch {
                // A vault that another machine has taken over is unmounted.
                if vault.leases.isLost { kill(process) }
            }
        }
    }

    private func request(_ vault: SimulatedVault) throws(Errno) {
        counts.requests += 1
        let file = scheduler.number(below: Self.files)
        do throws(Errno) {
            switch scheduler.number(below: 12) {
            case 0..<3: try vault.read(file)
            case 3..<5:
                try vault.write(file, at: (0...scheduler.number(below: 2)).map { _ in nil }, isSynced: isEither)
            case 5..<8:
                try vault.write(
                    file, at: (0...scheduler.number(below: 2)).map { _ in scheduler.number(below: 3) },
                    isSynced: isEither)
            case 8: try vault.lookUp(scheduler.number(below: Self.files))
            case 9: try vault.rename(0, to: 1, isSynced: isEither)
            default: try vault.open(scheduler.number(below: Self.files), isEither ? .read : .write)
            }
        } catch {
            // Where more than one has died, others may wait too long.
            guard error == .ETIMEDOUT, !hasKilledOnly || counts.kills > 1 else { throw error }
        }
        if scheduler.isLucky(1, of: 10) { try vault.leases.giveUpIdle(keeping: 1) }
    }

    private var isEither: Bool { scheduler.isLucky(1, of: 2) }

    func nextBlock() -> Int {
        blocks += 1
        return blocks
    }

    func nextConnection() -> Int {
        connections += 1
        return connections
    }

    // MARK: Faults

    private func mayGoWrong() {
        guard faults > 0, !isCalm, scheduler.isLucky(1, of: 40), !living.isEmpty else { return }
        let process = living[scheduler.number(below: living.count)].process
        guard !process.isDead, process.isReachable else { return }
        faults -= 1
        // Within a term, or longer than others wait.
        let time = Duration.milliseconds(scheduler.number(below: isEither ? 3000 : 40_000))
        var choice = scheduler.number(below: 10)
        let fault = weights.firstIndex { weight in
            choice -= weight
            return choice < 0
        }
        if fault != 0 { hasKilledOnly = false }
        switch fault {
        case 0:
            counts.kills += 1
            kill(process)
        case 1:
            counts.stops += 1
            tell("machine \(process.machine.number) stops for \(time)")
            process.stop(until: scheduler.now + time)
        case 2:
            counts.cuts += 1
            cutOff(process, for: time)
        default:
            counts.powerLosses += 1
            losePower()
        }
    }

    /// Its locks go at once, or when the store misses it.
    func kill(_ process: Process) {
        guard !process.isDead, let vault = living.first(where: { $0.process === process })?.vault else { return }
        tell("machine \(process.machine.number) dies")
        vault.lose()
        process.die(byPowerLoss: false)
        let connection = process.connection
        guard scheduler.isLucky(1, of: 2) else { return locks.dropAll(of: connection) }
        dropLater(connection, after: .milliseconds(scheduler.number(below: 30_000)))
    }

    /// Another machine has recovered what it has left: it may live still, and then what it has not closed may be lost.
    func wasTakenOver(_ machine: MachineNumber) {
        for (process, vault) in living where process.machine == machine { vault.lose() }
    }

    private func dropLater(_ connection: Int, after time: Duration) {
        scheduler.start("store", of: nil) { [self] in
            scheduler.sleep(for: time)
            tell("the store drops the locks of connection \(connection)")
            locks.dropAll(of: connection)
        }
    }

    private func drop(_ connection: Int) { locks.dropAll(of: connection) }

    /// The store may miss it at any time of that, or not at all.
    private func cutOff(_ process: Process, for time: Duration) {
        process.cutOff()
        tell("machine \(process.machine.number) is cut off for \(time)")
        let isMissed = scheduler.isLucky(2, of: 3)
        let connection = process.connection
        if isMissed {
            scheduler.start("store", of: nil) { [self] in
                if isEither {
                    scheduler.sleep(for: .milliseconds(scheduler.number(below: Int(time / .milliseconds(1)) + 1)))
                }
                locks.dropAll(of: connection)
            }
        }
        scheduler.start("network", of: nil) { [self] in
            scheduler.sleep(for: time)
            if isMissed { locks.dropAll(of: connection) }
            process.reconnect(isNew: isMissed)
        }
    }

    /// Of all machines, and of the store.
    private func losePower() {
        tell("power is lost")
        for (process, _) in living {
            process.die(byPowerLoss: true)
            locks.dropAll(of: process.connection)
        }
        disk.losePower { [scheduler] in scheduler.number(below: $0) }
        for index in oracle.files.indices { oracle.files[index].losePower() }
        oracle.folder.losePower()
    }

    func tell(_ words: @autoclosure () -> String) {
        if isTold { print("\(scheduler.now / .milliseconds(1)) ms: \(words())") }
    }

    // MARK: Findings

    func expect<Value: Equatable>(_ what: String, _ expected: Value, _ found: Value?) {
        guard found != expected else { return }
        scheduler.fail("\(what): \(found.map { "\($0)" } ?? "nothing") is not \(expected)")
    }

    func note(_ what: String, _ wrong: String?) { if let wrong { scheduler.fail("\(what): \(wrong)") } }
}
