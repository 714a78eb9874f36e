import CBuild
import Crypto
import Fuse
import Posix

/// The output of `--version --verbose`: the licence, and the parts by other authors with their licences.
enum About {
    struct Part {
        let name: String
        /// Nil if the part does not report it.
        var version: String?
        let license: String
        let use: String
    }

    /// The version with what it was built from and runs with, for `--version`: its first word is the version.
    static var version: String {
        let commit = unsafe String(cString: lk_build_commit())
        return "\(Latchkey.version) (commit \(commit), libfuse \(LibfuseVersion.text), OpenSSL \(OpenSSLVersion.text))"
    }

    static let license = "Apache-2.0"

    /// Compiled in; versions are pinned in Package.swift.
    static let builtIn = [
        Part(name: "swift-argument-parser", version: "1.8.2", license: "Apache-2.0, runtime exception", use: arguments),
        Part(name: "swift-log", version: "1.16.2", license: "Apache-2.0", use: "the daemon's log"),
        Part(
            name: "Swift runtime, Foundation", license: "Apache-2.0, runtime exception",
            use: "built in by tools/install, else shared"),
    ]

    private static let arguments = "options and help"

    /// Shared libraries without which the program does not start.
    static var linked: [Part] {
        [
            Part(name: "libfuse3", version: LibfuseVersion.text, license: "LGPL-2.1", use: "the mount"),
            Part(name: "libcrypto", version: OpenSSLVersion.text, license: "Apache-2.0", use: "OpenSSL's ciphers"),
            Part(name: "libargon2", license: "CC0-1.0 or Apache-2.0", use: "passcodes"),
        ]
    }

    /// Shared libraries that are opened when needed, and may be missing.
    static let opened = [
        Part(name: "libfido2", license: "BSD-2-Clause", use: "security keys"),
        Part(name: "tpm2-tss", license: "BSD-2-Clause", use: "device keys in a TPM"),
    ]

    static var text: Printable {
        var table = Table()
        for (heading, parts) in [("built in", builtIn), ("linked", linked), ("opened if needed", opened)] {
            for (index, part) in parts.enumerated() {
                table.add(
                    Printable(index == 0 ? heading : ""), Printable(part.name), Printable(part.version ?? ""),
                    Printable(part.license), Printable(part.use))
            }
        }
        return ["latchkey \(Printable(version)), \(Printable(license))", table.lines()].joined(separator: "\n")
    }
}
