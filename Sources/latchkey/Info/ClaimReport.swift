import Administration
import Keybag
import Posix
import Store

/// Which machine uses a vault, for people and as JSON.
struct ClaimReport: Encodable {
    private let state: String
    private let host: String?
    private let isThisMachine: Bool
    /// Seconds since 1970, by the clock of that machine.
    private let renewed: UInt64

    /// Nil if the vault has no claim, or it cannot be read.
    init?(in store: DirectoryStore, _ keys: VolumeKeys?) {
        guard let use = try? VaultUse(of: store, keys) else { return nil }
        state = use.state.rawValue
        host = use.host
        isThisMachine = use.isThisMachine
        renewed = use.renewed
    }

    var text: Printable {
        let machine: Printable =
            isThisMachine ? "this machine" : host.map { "the machine \(Printable($0))" } ?? "another machine"
        let time = Clock.date(Double(renewed))
        return switch state {
        case "released": "released by \(machine), \(time)"
        case "left": "left by a daemon of \(machine) that has ended, \(time)"
        case "taking": "\(machine) is taking it over, \(time)"
        default: "held by \(machine), \(time)"
        }
    }
}
