import Glibc

/// The scripts that make a shell ask this program.
///
/// The argument parser's own scripts complete no paths, and split values at spaces and colons.
enum CompletionScript {
    static let option = "--generate-completion-script"

    /// The script that the arguments ask for; nil if they ask for none, or for an unknown shell's.
    static func requested(by arguments: [String]) -> String? {
        guard let first = arguments.first, arguments.count <= 2 else { return nil }
        if first == option {
            let login = unsafe getenv("SHELL").map { unsafe String(cString: $0) } ?? ""
            return of(arguments.count == 2 ? arguments[1] : login.split(separator: "/").last.map(String.init) ?? "")
        }
        guard first.hasPrefix(option + "="), arguments.count == 1 else { return nil }
        return of(String(first.dropFirst(option.count + 1)))
    }

    static func of(_ shell: String) -> String? {
        switch shell {
        case "bash": String(decoding: PackageResources.latchkey_bash, as: UTF8.self)
        case "zsh": String(decoding: PackageResources.latchkey_zsh, as: UTF8.self)
        case "fish": String(decoding: PackageResources.latchkey_fish, as: UTF8.self)
        default: nil
        }
    }
}
