public import Failure
import Glibc
import Posix
import Synchronization

/// One connection to the daemon of a mount.
///
/// Calls block, and wait for each other when several threads make them. A descriptor that is passed stays the caller's.
public final class ControlClient: Sendable {
    private let stream: Mutex<MessageStream>
    private let socket: Descriptor

    /// Seconds that a daemon has for an answer that needs no work.
    private static let patience = 5.0

    /// Connects to a socket, and refuses one that neither this user nor root serves.
    public convenience init(socket path: String) throws(Failure) {
        try self.init(socket: path, of: geteuid())
    }

    /// Connects to a socket of another user's daemon, as root may.
    convenience init(socket path: String, of owner: UInt32) throws(Failure) {
        let socket = try connect(to: path, patience: Self.patience)
        let user = try peerUser(of: socket)
        guard user == owner || user == 0 else { throw .permissionDenied }
        self.init(connected: socket)
    }

    /// Takes a connection to a daemon over; the socket is non-blocking.
    package init(connected socket: Descriptor) {
        self.socket = socket
        stream = Mutex(MessageStream(socket: socket))
    }

    /// Ends the connection, from any thread: a call that waits throws `disconnected`, and so does every one after it.
    public func disconnect() {
        // Fails only where the daemon has ended it already.
        _ = shutdown(socket.number, Int32(SHUT_RDWR))
    }

    public func status() throws(Failure) -> Status {
        let reply: StatusReply = try call("Status", NoParameters(), within: Self.patience)
        return reply.status
    }

    /// Starts the grace, or takes the keys out at once.
    ///
    /// - Parameter wait: return only when the mount is no longer locking: it is locked, or unlocked again.
    /// - Returns: the status after that; `.beforeFirstUnlock` where there was nothing to lock.
    public func lock(now: Bool = false, wait: Bool = false) throws(Failure) -> Status {
        // Without a grace the answer may still come after an eviction that runs, so there is no limit here.
        let reply: StatusReply = try call("Lock", LockParameters(now: now, wait: wait))
        return reply.status
    }

    /// Opens all classes.
    ///
    /// - Parameters:
    ///   - secret: what the daemon reads the passcode, or the recovery key's text, from, to its end: the reading
    ///     end of a pipe whose writing end is closed, or a file.
    ///   - mayBeLast: a passcode is tried also if the vault's keys are erased should it be wrong, here and in the other calls.
    public func unlock(
        _ kind: SecretKind = .passcode, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Status {
        let parameters = UnlockParameters(kind: kind, secret: 0, lastGuess: mayBeLast ? true : nil)
        let reply: StatusReply = try call("Unlock", parameters, [secret])
        return reply.status
    }

    /// - Parameters:
    ///   - kind: of the old one: a passcode, or none.
    ///   - allowingWeak: takes a weak one for the new one.
    public func changePasscode(
        _ kind: SecretKind = .passcode, from old: Descriptor, to new: Descriptor, allowingWeak: Bool = false,
        mayBeLast: Bool = false
    ) throws(Failure) {
        let parameters = ChangePasscodeParameters(
            old: 0, new: 1, weak: allowingWeak, kind: kind, lastGuess: mayBeLast ? true : nil)
        let _: NoParameters = try call("ChangePasscode", parameters, [old, new])
    }

    /// The ways into the vault.
    public func slots() throws(Failure) -> [Slot] {
        let reply: SlotsReply = try call("Slots", NoParameters(), within: Self.patience)
        return reply.slots
    }

    /// Adds a way into the vault: its number.
    ///
    /// - Parameter secret: what opens the vault now, as of `unlock`.
    public func addSlot(
        _ new: NewSlotSource, name: String = "", opening kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Int {
        var parameters = AddSlotParameters(kind: kind, secret: 0, newKind: .escrowKey, name: name)
        parameters.lastGuess = mayBeLast ? true : nil
        var descriptors = [secret]
        switch new {
        case .secret(let kind, let descriptor, let allowingWeak):
            parameters.newKind = kind
            parameters.weak = allowingWeak
            parameters.new = 1
            descriptors.append(descriptor)
        case .escrow(let publicKey): parameters.publicKey = publicKey
        case .securityKey(let key, let descriptor):
            parameters.newKind = .securityKey
            parameters.securityKey = key
            parameters.new = 1
            descriptors.append(descriptor)
        }
        let reply: SlotReply = try call("AddSlot", parameters, descriptors)
        return reply.slot
    }

    public func removeSlot(
        _ slot: Int, opening kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) {
        let parameters = RemoveSlotParameters(
            kind: kind, secret: 0, slot: slot, lastGuess: mayBeLast ? true : nil)
        let _: NoParameters = try call("RemoveSlot", parameters, [secret])
    }

    /// The number of the slot that a secret opens; nothing is unlocked.
    public func testSlot(
        _ kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Int {
        let parameters = UnlockParameters(kind: kind, secret: 0, lastGuess: mayBeLast ? true : nil)
        let reply: SlotReply = try call("TestSlot", parameters, [secret])
        return reply.slot
    }

    /// What protects a file.
    ///
    /// - Parameter file: open in any way; O_PATH is enough, and works while the file is locked.
    public func explain(_ file: Descriptor) throws(Failure) -> Explanation {
        let reply: ExplainReply = try call("Explain", ExplainParameters(file: 0), [file], within: Self.patience)
        return reply.explanation
    }

    /// Unmounts; `busy` if the mount is in use, but for a lazy one, which ends when its last user has gone.
    public func unmount(lazily: Bool = false) throws(Failure) {
        let _: NoParameters = try call("Unmount", UnmountParameters(lazy: lazily))
    }

    /// Makes the vault unreadable for good, and ends its daemon.
    ///
    /// - Returns: what became of the device key: destroyed, missing or foreign.
    /// - Throws: `erased` if not all could be destroyed; then the daemon ends, too.
    @discardableResult public func erase() throws(Failure) -> String {
        let reply: EraseReply = try call("Erase", NoParameters())
        return reply.deviceKey
    }

    /// Waits until the daemon has ended, and so the vault is free; false when the time is over.
    public func waitForEnd(seconds: Double) throws(Failure) -> Bool {
        try stream.withLock { stream throws(Failure) in
            do throws(Failure) {
                while try stream.receive(idle: .after(seconds: seconds)) != nil {}
                return true
            } catch .timedOut {
                return false
            } catch .disconnected {
                return true
            }
        }
    }

    /// Calls `body` with the present status, and then with each change of state, until it answers false or the daemon
    /// ends the connection (`disconnected`). The connection is of no more use afterwards.
    ///
    /// - Parameter position: that of the last change seen, over an earlier connection. What came after it is told first,
    ///   change by change; where the daemon does not know that any more, or is another one, the present status is.
    public func monitor(
        after position: MonitorPosition? = nil, _ body: (StatusChange) -> Bool
    ) throws(Failure) {
        try stream.withLock { stream throws(Failure) in
            let parameters = MonitorParameters(since: position?.sequence, instance: position?.instance)
            try stream.begin("io.latchkey.Monitor", parameters, more: true)
            while true {
                let (change, continues): (StatusChange, Bool) = try stream.reply(by: .never)
                if !body(change) || !continues { return }
            }
        }
    }

    /// The long names of the classes of files, by their `st_ino`; nil for what is no file that somebody has open.
    public func classes(ofInodes inodes: [UInt64]) throws(Failure) -> [String?] {
        var classes: [String?] = []
        var rest = inodes[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(ClassesParameters.limit))
            let reply: ClassesReply = try call("Classes", ClassesParameters(inodes: some), within: Self.patience)
            guard reply.classes.count == some.count else { throw .malformed("an answer of another length") }
            classes += reply.classes.map { $0.isEmpty ? nil : $0 }
            rest = rest.dropFirst(some.count)
        }
        return classes
    }

    /// The daemon's name for itself and its interfaces; `org.varlink.service.GetInfo`.
    public func information() throws(Failure) -> ServiceInformation {
        try call("GetInfo", of: "org.varlink.service", NoParameters(), within: Self.patience)
    }

    /// Calls a method and answers its reply; without `within` the daemon may take any time.
    func call<Parameters: Codable, Result: Codable>(
        _ method: String, of interface: String = "io.latchkey", _ parameters: Parameters,
        _ descriptors: [Descriptor] = [], within seconds: Double? = nil
    ) throws(Failure) -> Result {
        try stream.withLock { stream throws(Failure) in
            try stream.begin("\(interface).\(method)", parameters, descriptors)
            let deadline = seconds.map { Deadline.after(seconds: $0) } ?? .never
            let (result, _): (Result, Bool) = try stream.reply(by: deadline)
            return result
        }
    }
}

extension MessageStream {
    fileprivate func begin(
        _ method: String, _ parameters: some Codable, _ descriptors: [Descriptor] = [], more: Bool? = nil
    ) throws(Failure) {
        let call = Call(method: method, parameters: parameters, more: more)
        try send(Message(call, descriptors: descriptors), by: .after(seconds: 5))
    }

    fileprivate mutating func reply<Result: Codable>(by deadline: Deadline) throws(Failure) -> (Result, Bool) {
        guard let message = try receive(idle: deadline) else { throw .disconnected }
        let frame = try message.decode(ReplyFrame.self)
        if let name = frame.error {
            let parameters = try? message.decode(CallParameters<ErrorParameters>.self).parameters
            throw Failure(name: name, parameters: parameters ?? ErrorParameters())
        }
        do {
            return (try message.decode(CallParameters<Result>.self).parameters, frame.continues ?? false)
        } catch .invalidParameter(let field) {
            throw .malformed("an answer with a bad '\(field)'")
        }
    }
}
