import Foundation
import TestSupport

/// What `latchkey status --json` says of a mount.
struct MountStatus: Decodable {
    var state: String
    var graceRemaining: Double?
    var classKeys: [String]
    var openFiles: [String: Int]
    var fileKeysInMemory: Int
    var lastLockDuration: Double?
    var instance: String?
    var sequence: Int?
    var changed: Double?
    var whenLocked: String?
    var freezeTimeout: Double?
    var waitingRequests: Int?
    var holders: [Holder]?
    var unseenProcesses: Int?
    var mountPoint: String
    var vault: String
    var pid: Int
    var holds: [Hold]?
    var longestHold: Double?

    struct Hold: Decodable, Equatable {
        var pid: Int
        var uid: UInt32
        var command: String?
        var because: String?
        var seconds: Double
    }

    struct Holder: Decodable, Equatable {
        var pid: Int
        var name: String
        var openFiles: [String: Int]
        var mappedFiles: [String: Int]
        var folders: Int
        var workingFolder: Bool
        var root: Bool
    }

    /// Of one mount: the object, or the only element of a list.
    init(json: [UInt8]) throws {
        let decoder = JSONDecoder()
        if let one = try? decoder.decode(MountStatus.self, from: Data(json)) {
            self = one
        } else if let first = try? decoder.decode([MountStatus].self, from: Data(json)).first {
            self = first
        } else {
            throw HarnessError("status --json: \(String(decoding: json, as: UTF8.self))")
        }
    }
}

/// The four classes.
enum ProtectionClass: String, CaseIterable, CustomStringConvertible {
    case complete
    case completeUnlessOpen = "complete-unless-open"
    case completeUntilFirstUserAuthentication = "complete-until-first-user-authentication"
    case none

    var letter: String {
        switch self {
        case .complete: "A"
        case .completeUnlessOpen: "B"
        case .completeUntilFirstUserAuthentication: "C"
        case .none: "D"
        }
    }

    var description: String { letter }

    /// The class byte of docs/FORMAT.md.
    var code: UInt8 { UInt8(ProtectionClass.allCases.firstIndex(of: self)! + 1) }
}

/// The four lock states, and the one after a deep lock.
enum LockState: String, CaseIterable, CustomStringConvertible {
    case beforeFirstUnlock = "before-first-unlock"
    case unlocked
    case locking
    case locked
    case deeplyLocked

    var description: String { rawValue }

    /// As a status has it.
    var reported: String { self == .deeplyLocked ? Self.beforeFirstUnlock.rawValue : rawValue }
}
