public import Posix

/// A value of a message, without its exact D-Bus type.
///
/// Source: D-Bus Specification, "Type System".
public enum BusValue: Sendable {
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    /// A string, an object path or a signature.
    case string(String)
    case descriptor(Descriptor)
    case array([BusValue])
    case structure([BusValue])
    /// An entry of a dictionary, which is an array of them.
    indirect case entry(BusValue, BusValue)
    indirect case variant(BusValue)

    public var boolean: Bool? { if case .boolean(let value) = plain { value } else { nil } }
    public var string: String? { if case .string(let value) = plain { value } else { nil } }
    public var unsigned: UInt64? { if case .unsigned(let value) = plain { value } else { nil } }
    public var descriptor: Descriptor? { if case .descriptor(let value) = plain { value } else { nil } }
    public var elements: [BusValue]? {
        switch plain {
        case .array(let values), .structure(let values): values
        default: nil
        }
    }

    /// The values of a dictionary whose keys are strings.
    public var dictionary: [String: BusValue]? {
        guard case .array(let entries) = plain else { return nil }
        var values: [String: BusValue] = [:]
        for case .entry(let key, let value) in entries {
            if let key = key.string { values[key] = value }
        }
        return values
    }

    private var plain: BusValue { if case .variant(let value) = self { value.plain } else { self } }
}

/// An argument of a method call, with its D-Bus type.
public enum BusArgument: Sendable {
    case string(String)
    case int32(Int32)
    case uint32(UInt32)
    case byte(UInt8)
    case boolean(Bool)
    /// `as`.
    case strings([String])
    /// `a{sv}`.
    case options([String: BusArgument])

    /// Its D-Bus type; nil for what is not put into a variant here.
    var signature: String? {
        switch self {
        case .string: "s"
        case .int32: "i"
        case .uint32: "u"
        case .byte: "y"
        case .boolean: "b"
        case .strings, .options: nil
        }
    }
}
