import Posix
import Sharing

/// A daemon: what it has in memory is gone when it dies.
final class Process: @unchecked Sendable {
    let machine: MachineNumber
    let world: World
    private(set) var isDead = false
    private(set) var hasLostPower = false
    /// The schedule is over: it ends in order.
    var isEnding = false
    private(set) var stoppedUntil = Duration.zero
    /// Where the store reaches it. Locks belong to a connection; when it breaks, the next one has none.
    private(set) var connection: Int
    private(set) var isReachable = true

    init(of machine: MachineNumber, in world: World) {
        self.machine = machine
        self.world = world
        connection = world.nextConnection()
    }

    func isStopped(at now: Duration) -> Bool { stoppedUntil > now }

    func stop(until time: Duration) { stoppedUntil = time }

    func cutOff() { isReachable = false }

    /// The store may have dropped its locks meanwhile: then it has a new connection.
    func reconnect(isNew: Bool) {
        isReachable = true
        if isNew { connection = world.nextConnection() }
    }

    func die(byPowerLoss: Bool) {
        isDead = true
        hasLostPower = hasLostPower || byPowerLoss
        stoppedUntil = .zero
    }
}

/// How a process reaches the store. Each call is a scheduling point, and may meet a cut connection.
final class Link: SharedStore, @unchecked Sendable {
    private let process: Process
    private var world: World { process.world }

    init(_ process: Process) { self.process = process }

    /// A call that may come late: it changes nothing that another machine could have changed meanwhile.
    func call<Answer>(_ name: String = #function, _ effect: () throws(Errno) -> Answer) throws(Errno) -> Answer {
        world.scheduler.point()
        if !process.isReachable {
            world.scheduler.wait { [process, world] in
                process.isReachable || process.isDead || world.scheduler.failure != nil
            }
        }
        guard !process.isDead, world.scheduler.failure == nil else { throw .ECANCELED }
        let answer = try effect()
        world.tell("\(process.machine.number) (\(process.connection)) \(name): \(answer)")
        return answer
    }

    /// A change of a file, a folder or a journal: it takes effect within a time, or fails. A process whose change has
    /// failed cannot know whether it has taken effect, and dies.
    func change(
        _ check: () throws(Errno) -> Void, _ name: String = #function, _ effect: () -> Void
    ) throws(Errno) {
        try check()
        world.scheduler.fly(atMost: World.times.delay)
        let arrives = process.isReachable || world.scheduler.isLucky(1, of: 2)
        world.tell("\(process.machine.number) \(name), which arrives: \(arrives)")
        if process.isDead {
            if arrives, world.scheduler.isLucky(1, of: 2), !process.hasLostPower { effect() }
            throw .ECANCELED
        }
        guard world.scheduler.failure == nil else { throw .ECANCELED }
        if arrives { effect() }
        guard process.isReachable else {
            world.kill(process)
            throw .EIO
        }
    }

    // MARK: SharedStore

    func lock(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) -> Bool {
        try call("lock \(object.number) \(kind)") { world.locks.take(object, kind, for: process.connection) }
    }

    func unlock(_ object: LeaseObject) throws(Errno) {
        try call("unlock \(object.number)") { world.locks.drop(object, of: process.connection) }
    }

    func wish(_ wish: Wish, isOver: Bool) throws(Errno) {
        try call("wish \(wish.object.number) \(wish.kind), over: \(isOver)") {
            world.locks.wish(wish, isOver: isOver, of: process.connection)
        }
    }

    func wishes() throws(Errno) -> [Wish] { try call { world.locks.wishes(besides: process.connection) } }

    func lockSign(of machine: MachineNumber) throws(Errno) -> Bool {
        try call { world.locks.takeSign(of: machine, for: process.connection) }
    }

    func unlockSign(of machine: MachineNumber) throws(Errno) {
        try call { world.locks.dropSign(of: machine, of: process.connection) }
    }

    func isSignLocked(of machine: MachineNumber) throws(Errno) -> Bool {
        try call("sign of \(machine.number)") { world.locks.signs[machine] != nil }
    }

    func lockRecovery(of machine: MachineNumber) throws(Errno) -> Bool {
        try call { world.locks.takeRecovery(of: machine, for: process.connection) }
    }

    func unlockRecovery(of machine: MachineNumber) throws(Errno) {
        try call { world.locks.dropRecovery(of: machine, of: process.connection) }
    }

    func members() throws(Errno) -> [MemberRecord] {
        try call { world.disk.members.values.sorted { $0.machine < $1.machine } }
    }

    func write(_ record: MemberRecord) throws(Errno) {
        func nothing() throws(Errno) {}
        try change(nothing, "write \(record.state) of \(record.machine.number)") {
            world.disk.members[record.machine] = record
            if record.state == .left, record.machine != process.machine { world.wasTakenOver(record.machine) }
        }
    }
}

/// What the store knows of locks.
struct Locks {
    private var objects: [LeaseObject: [Int: LeaseKind]] = [:]
    private(set) var signs: [MachineNumber: Int] = [:]
    private var recoveries: [MachineNumber: Int] = [:]
    private var waiting: [(connection: Int, wish: Wish)] = []

    mutating func take(_ object: LeaseObject, _ kind: LeaseKind, for connection: Int) -> Bool {
        let others = objects[object, default: [:]].filter { $0.key != connection }
        guard others.isEmpty || (kind == .read && others.values.allSatisfy { $0 == .read }) else { return false }
        objects[object, default: [:]][connection] = kind
        return true
    }

    mutating func drop(_ object: LeaseObject, of connection: Int) { objects[object]?[connection] = nil }

    mutating func wish(_ wish: Wish, isOver: Bool, of connection: Int) {
        if isOver {
            waiting.removeAll { $0 == (connection, wish) }
        } else {
            waiting.append((connection, wish))
        }
    }

    func wishes(besides connection: Int) -> [Wish] { waiting.filter { $0.connection != connection }.map(\.wish) }

    mutating func takeSign(of machine: MachineNumber, for connection: Int) -> Bool {
        guard signs[machine, default: connection] == connection else { return false }
        signs[machine] = connection
        return true
    }

    mutating func dropSign(of machine: MachineNumber, of connection: Int) {
        if signs[machine] == connection { signs[machine] = nil }
    }

    /// As with locks of an open file: the process that has it may take it again.
    mutating func takeRecovery(of machine: MachineNumber, for connection: Int) -> Bool {
        guard recoveries[machine, default: connection] == connection else { return false }
        recoveries[machine] = connection
        return true
    }

    mutating func dropRecovery(of machine: MachineNumber, of connection: Int) {
        if recoveries[machine] == connection { recoveries[machine] = nil }
    }

    /// The connection is broken: all of its locks go at once.
    mutating func dropAll(of connection: Int) {
        for object in objects.keys { objects[object]?[connection] = nil }
        signs = signs.filter { $0.value != connection }
        recoveries = recoveries.filter { $0.value != connection }
        waiting.removeAll { $0.connection == connection }
    }
}

/// The clock of a process, and its threads.
final class SimulatedSurroundings: Surroundings, @unchecked Sendable {
    private let process: Process
    private var scheduler: Scheduler { process.world.scheduler }

    init(_ process: Process) { self.process = process }

    var now: Duration { scheduler.now }

    private var isOver: Bool { process.isDead || scheduler.failure != nil }

    func pause(for time: Duration) throws(Errno) {
        scheduler.sleep(for: time)
        guard !isOver else { throw .ECANCELED }
    }

    func wait(until condition: () -> Bool) throws(Errno) {
        withoutActuallyEscaping(condition) { condition in
            scheduler.wait { [self] in isOver || condition() }
        }
        guard !isOver else { throw .ECANCELED }
    }

    func wakeAll() {}
}
