import TestSupport
import Testing

extension MountTests {
    /// The library for Swift programs, as a program that uses it sees a mount.
    @Suite struct DataProtection {}
}

/// A mount with a probe, and a program that calls the library.
struct ProtectedScene {
    let scene: Scene
    let program: Probe

    var mount: MountedVault { scene.mount }

    /// What the library answers to a call whose last path is a name in the mount.
    func ask(_ command: String, _ words: String...) throws -> Answer {
        try program.ask([command] + words)
    }

    func path(_ name: String) -> String { scene.path(name) }

    func write(_ protection: ProtectionClass, _ name: String, _ contents: [UInt8]) throws -> Answer {
        try program.ask("write", protection.appleName, path(name), contents.hexadecimal)
    }

    /// All names in a folder of the mount.
    func names(in folder: String = "") throws -> [String] {
        try scene.probe.list(path(folder))
    }
}

/// Returns when the condition holds; the event comes from another thread or a daemon.
func until(_ what: String, _ holds: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(20)
    while try !holds() {
        guard ContinuousClock.now < end else { throw HarnessError("never: \(what)") }
    }
}

func withProtected(
    _ initOptions: [String] = [], unlocked: Bool = true, grace: Int = 1, _ body: (ProtectedScene) throws -> Void
) throws {
    try withScene(initOptions, unlocked: unlocked, grace: grace) { scene in
        let program = try Probe(Built.protected, environment: scene.mount.vault.environment)
        try body(ProtectedScene(scene: scene, program: program))
        program.process.send(9)
        program.process.wait()
    }
}

extension ProtectionClass {
    /// The raw value of Foundation's `FileProtectionType`.
    var appleName: String {
        switch self {
        case .complete: "NSFileProtectionComplete"
        case .completeUnlessOpen: "NSFileProtectionCompleteUnlessOpen"
        case .completeUntilFirstUserAuthentication: "NSFileProtectionCompleteUntilFirstUserAuthentication"
        case .none: "NSFileProtectionNone"
        }
    }
}
