public import Failure
import Glibc
import LockSources
public import Posix
import Synchronization

/// Locks mounts when the session, the screen or the machine says so. One process for a user, or for the machine.
///
/// Each source has a thread of its own, so that one that hangs delays no other.
public final class Agent: Sendable {
    /// What the program gives to it.
    public struct Surroundings: Sendable {
        /// Read for each event: a change of the configuration needs no restart. Nil if the configuration is wrong.
        public var settings: @Sendable () -> AgentSettings?
        public var log: @Sendable (Printable) -> Void
        public var version: String
        /// The programs that have files of class A open in a mount, in words; with their names if the flag says so.
        public var users: @Sendable (Path, Bool) -> [Printable]
        /// Why a daemon did not do what was asked.
        public var words: @Sendable (Failure) -> Printable
        /// The mounts that the kernel knows.
        public var table: @Sendable () -> [TableMount]
        /// The addresses of the buses; nil for those of this user and machine.
        public var systemBus: String
        public var sessionBus: String?

        public init(
            settings: @escaping @Sendable () -> AgentSettings?, log: @escaping @Sendable (Printable) -> Void,
            version: String, users: @escaping @Sendable (Path, Bool) -> [Printable],
            words: @escaping @Sendable (Failure) -> Printable,
            table: @escaping @Sendable () -> [TableMount], systemBus: String, sessionBus: String?
        ) {
            self.settings = settings
            self.log = log
            self.version = version
            self.users = users
            self.words = words
            self.table = table
            self.systemBus = systemBus
            self.sessionBus = sessionBus
        }
    }

    let surroundings: Surroundings
    let record: LockRecord
    /// The user whose mounts it locks; nil for those of all users.
    let user: UInt32?
    fileprivate let locker: MountLocker
    private let events = EventQueue()
    private let latecomers = Latecomers()
    private let hold: Descriptor
    let notices: NoticeQueue
    let settings: SettingsReader
    /// Nil where no notification can be shown.
    private let older: OlderFiles?

    /// - Throws: `failed` if another agent of this user runs; `io`, `socket` or `unsafeDirectory`.
    public init(_ surroundings: Surroundings) throws(Failure) {
        self.surroundings = surroundings
        settings = SettingsReader(surroundings.settings)
        locker = MountLocker(surroundings.words)
        user = geteuid() == 0 ? nil : geteuid()
        let files = AgentFiles()
        do throws(Errno) { notices = try NoticeQueue() } catch { throw .io(error, doing: "beginning an agent") }
        do throws(Errno) {
            older =
                if let user, surroundings.sessionBus != nil { try OlderFiles(of: user, surroundings.table) } else {
                    nil
                }
        } catch { throw .io(error, doing: "beginning an agent") }
        let hold = try files.hold()
        guard let hold else { throw .failed(reason: "an agent of this user runs already") }
        self.hold = hold
        let report = AgentReport(pid: getpid(), started: now(), version: surroundings.version)
        do throws(Errno) { record = try LockRecord(report, files, log: surroundings.log) } catch {
            throw .io(error, doing: "beginning an agent")
        }
    }

    /// Starts the threads of all sources; they run until the process ends.
    public func start() throws(Errno) {
        try record.start()
        try startThread { [self] in SystemBus(self).run() }
        if user != nil, let address = surroundings.sessionBus {
            try startThread { [self] in SessionBus(self, address).run() }
        }
        try startThread { [self] in Devices(self).run() }
        if let older { try startThread { [self] in older.run { self.tell($0) } } }
    }

    /// Takes an event, and returns before it is carried out.
    func take(_ event: SourceEvent) {
        if event.phase == .ended { latecomers.end(event) }
        events.add(event) { [self] in _ = carryOut($0) }
    }

    /// Carries an event out on the caller's thread.
    @discardableResult
    func carryOut(_ event: SourceEvent) -> [LockOutcome] {
        let settings = settings.current
        record.change { report in
            for source in LockSource.allCases { report[source].isOn = !settings.off.contains(source) }
        }
        guard event.phase == .ended || !settings.off.contains(event.source) else { return [] }
        switch event.phase {
        case .began: latecomers.begin(event) { [self] in take($0) }
        case .lasts: guard latecomers.lasts(event) else { return [] }
        // Once more: it may have waited behind its beginning.
        case .ended: latecomers.end(event)
        }
        let outcomes = locker.handle(event, settings, surroundings.table) { [self] in latecomers.means($0, event) }
        if event.phase == .began || !outcomes.isEmpty {
            record.fired(event.source, at: now(), outcomes.summary)
            surroundings.log("\(event.source.rawValue): \(outcomes.summary)")
        }
        if !event.source.isImmediate { tell(.done(outcomes)) }
        if event.phase != .lasts { older?.look() }
        return outcomes
    }
}

extension Agent {
    /// Shows a notice, unless the configuration forbids it.
    func tell(_ notice: Notice) {
        let settings = settings.current
        guard settings.notifies, let text = notice.text(surroundings.users, namesFiles: settings.namesFiles) else {
            return
        }
        notices.add(text)
    }

    /// The machine has woken up. A mount that came while it fell asleep is locked now.
    func woke() {
        locker.woke()
        let sleep = SourceEvent(.sleep, .lasts, user: user)
        let look: @Sendable () -> Void = { [self] in
            tell(.notLockedBeforeSleep(carryOut(sleep).filter(\.isFailed)))
            latecomers.forget(sleep)
        }
        do throws(Errno) { try startThread(look) } catch { look() }
    }

    /// A session has ended.
    func forget(session: String) { latecomers.end(subject: session) }

    /// A person has chosen "Lock now" in a notification.
    func lockNow() {
        for outcome in locker.lockNow(of: user, surroundings.table) where outcome.isFailed { tell(.done([outcome])) }
    }
}

/// Seconds since 1970.
private func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
