/// The Varlink interfaces that a daemon serves, as GetInterfaceDescription returns them: the files *.varlink. The build
/// compiles them in, since a static binary cannot load resources.
enum InterfaceDescription {
    static let names = ["org.varlink.service", "io.latchkey"]

    static func named(_ name: String) -> String? {
        switch name {
        case "org.varlink.service": service
        case "io.latchkey": latchkey
        default: nil
        }
    }

    static let latchkey = String(decoding: PackageResources.io_latchkey_varlink, as: UTF8.self)

    /// Source: varlink.org, "Service".
    static let service = String(decoding: PackageResources.org_varlink_service_varlink, as: UTF8.self)
}
