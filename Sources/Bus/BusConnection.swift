internal import CBus
public import Posix

/// A connection to a message bus; one thread at a time.
@safe
public final class BusConnection {
    private let bus: OpaquePointer

    /// How long a call waits for its reply.
    public static let patience = Duration.seconds(5)

    /// Connects.
    ///
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. Source: D-Bus Specification, "Server Addresses".
    public init(address: String) throws(BusError) {
        guard lk_bus_is_loaded() == 1 else { throw .noLibrary }
        var opened: OpaquePointer?
        try check(unsafe lk_bus_open(address, UInt64(Self.patience / .microseconds(1)), &opened))
        guard let opened = unsafe opened else { throw .connection(.ENOMEM) }
        unsafe bus = opened
    }

    deinit { unsafe lk_bus_close(bus) }

    /// Asks for the signals that a rule describes. Source: D-Bus Specification, "Match Rules".
    public func match(_ rule: String) throws(BusError) { try check(unsafe lk_bus_match(bus, rule)) }

    /// Waits for the next signal; nil if `wakeup` is readable.
    public func next(unless wakeup: Descriptor) throws(BusError) -> BusSignal? {
        try next(unless: wakeup, within: nil)?.whole()
    }

    /// Waits for the next signal; nil if `wakeup` is readable, or after this time. Its body is not read yet: that of a
    /// sender who is not believed may be large.
    public func next(unless wakeup: Descriptor, within time: Duration?) throws(BusError) -> ReceivedSignal? {
        var message: OpaquePointer?
        defer { withExtendedLifetime(wakeup) {} }
        let patience = time.map { Int32(clamping: Int($0 / .milliseconds(1))) } ?? -1
        guard try check(unsafe lk_bus_next(bus, wakeup.number, patience, &message)) > 0,
            let message = unsafe message
        else { return nil }
        return unsafe ReceivedSignal(BusMessage(message))
    }

    /// Calls a method, and returns what it answers.
    @discardableResult
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: BusArgument...
    ) throws(BusError) -> [BusValue] {
        var made: OpaquePointer?
        try check(unsafe lk_bus_new_call(bus, destination, path, interface, member, &made))
        guard let made = unsafe made else { throw .connection(.ENOMEM) }
        let call = unsafe BusMessage(made)
        for argument in arguments { try call.append(argument) }
        var reply: OpaquePointer?
        var name = [CChar](repeating: 0, count: 256)
        let result = unsafe lk_bus_send(bus, call.pointer, &reply, &name, Int32(name.count))
        guard result >= 0, let reply = unsafe reply else {
            let error = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let errno = Errno(rawValue: -min(result, 0))
            throw error.isEmpty ? .connection(errno) : .refused(name: error, errno)
        }
        return try unsafe BusMessage(reply).values()
    }

    /// The value of a property.
    public func property(
        _ destination: String, _ path: String, _ interface: String, _ name: String
    ) throws(BusError) -> BusValue {
        let properties = "org.freedesktop.DBus.Properties"
        let values = try call(destination, path, properties, "Get", .string(interface), .string(name))
        guard let value = values.first else { throw .connection(.EBADMSG) }
        return value
    }
}
