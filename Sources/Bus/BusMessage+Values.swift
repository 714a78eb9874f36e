internal import CBus
import Glibc
import Posix

extension BusMessage {
    /// Deeper than any message that is read here. The bus allows 64 levels of containers.
    private static let deepest = 32

    /// Reads the body.
    ///
    /// - Throws: if a value cannot be read, or is nested too deeply.
    func values() throws(BusError) -> [BusValue] { try values(depth: 0) }

    /// Reads up to the end of the container.
    private func values(depth: Int) throws(BusError) -> [BusValue] {
        guard depth < Self.deepest else { throw .connection(.EBADMSG) }
        var values: [BusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            guard try check(unsafe lk_bus_peek(pointer, &type, &contents)) > 0 else { return values }
            values.append(try unsafe value(type, contents, depth))
        }
    }

    private func value(
        _ type: CChar, _ contents: UnsafePointer<CChar>?, _ depth: Int
    ) throws(BusError) -> BusValue {
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "b"): return .boolean(try basic(type, Int32(0)) != 0)
        case UInt8(ascii: "y"): return .unsigned(UInt64(try basic(type, UInt8(0))))
        case UInt8(ascii: "n"): return .integer(Int64(try basic(type, Int16(0))))
        case UInt8(ascii: "q"): return .unsigned(UInt64(try basic(type, UInt16(0))))
        case UInt8(ascii: "i"): return .integer(Int64(try basic(type, Int32(0))))
        case UInt8(ascii: "u"): return .unsigned(UInt64(try basic(type, UInt32(0))))
        case UInt8(ascii: "x"): return .integer(try basic(type, Int64(0)))
        case UInt8(ascii: "t"): return .unsigned(try basic(type, UInt64(0)))
        case UInt8(ascii: "d"): return .double(try basic(type, Double(0)))
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
            var text: UnsafePointer<CChar>?
            try check(unsafe lk_bus_read(pointer, type, &text))
            guard let text = unsafe text else { return .string("") }
            return .string(unsafe String(cString: text))
        case UInt8(ascii: "h"):
            // The message keeps its own.
            let own = fcntl(try basic(type, Int32(-1)), F_DUPFD_CLOEXEC, 0)
            guard own >= 0 else { throw .connection(.current) }
            return .descriptor(Descriptor(owning: own))
        case UInt8(ascii: "a"): return .array(try unsafe inside(type, contents, depth))
        case UInt8(ascii: "r"): return .structure(try unsafe inside(type, contents, depth))
        case UInt8(ascii: "e"):
            let pair = try unsafe inside(type, contents, depth)
            guard pair.count == 2 else { throw .connection(.EBADMSG) }
            return .entry(pair[0], pair[1])
        case UInt8(ascii: "v"):
            guard let value = try unsafe inside(type, contents, depth).first else { throw .connection(.EBADMSG) }
            return .variant(value)
        default: throw .connection(.EBADMSG)
        }
    }

    private func basic<Value: BitwiseCopyable>(_ type: CChar, _ zero: Value) throws(BusError) -> Value {
        var value = zero
        try check(unsafe lk_bus_read(pointer, type, &value))
        return value
    }

    private func inside(
        _ type: CChar, _ contents: UnsafePointer<CChar>?, _ depth: Int
    ) throws(BusError) -> [BusValue] {
        try check(unsafe lk_bus_enter(pointer, type, contents))
        let inner = try values(depth: depth + 1)
        try check(unsafe lk_bus_leave(pointer))
        return inner
    }
}
