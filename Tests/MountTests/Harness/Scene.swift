import TestSupport

/// A mount with a probe in it, and its calls by names below the mount.
struct Scene {
    let mount: MountedVault
    let probe: Probe

    func path(_ name: String) -> String {
        mount.file(name)
    }

    /// A file with contents; its class is set where one is given.
    func makeFile(_ name: String, class protection: ProtectionClass? = nil, _ contents: [UInt8] = [1, 2, 3]) throws {
        try probe.write(path(name), contents)
        if let protection {
            try setClass(protection, of: name)
        }
    }

    func makeFolder(_ name: String, class protection: ProtectionClass? = nil) throws {
        try probe.ask("mkdir", path(name), "0755").required("mkdir \(name)")
        if let protection {
            try setClass(protection, of: name)
        }
    }

    func setClass(_ protection: ProtectionClass, of name: String) throws {
        try probe.setClass(protection.rawValue, of: path(name)).required("the class of \(name)")
    }

    func classOf(_ name: String) throws -> ProtectionClass {
        let text = try probe.classOf(path(name))
        guard let protection = ProtectionClass(rawValue: text) else { throw HarnessError("\(name): class \(text)") }
        return protection
    }

    func isExplicit(_ name: String) throws -> Bool {
        try probe.isExplicit(path(name))
    }

    func contents(_ name: String) throws -> [UInt8] {
        try probe.contents(path(name))
    }

    func rename(_ old: String, _ new: String) throws -> Answer {
        try probe.rename(path(old), path(new))
    }

    /// Before the unmount, which an open file would make busy.
    func endProbe() {
        probe.process.send(9)
        probe.process.wait()
    }
}

/// Runs the body with a fresh mounted vault and a probe; checks at the end that nothing stays.
func withScene(
    _ initOptions: [String] = [], unlocked: Bool = true, grace: Int = 1, options: [String] = [],
    _ body: (Scene) throws -> Void
) throws {
    try withScene(in: try Vault(initOptions), unlocked: unlocked, grace: grace, options: options, body)
}

/// The same in an existing vault.
func withScene(
    in vault: Vault, unlocked: Bool = true, grace: Int = 1, options: [String] = [], _ body: (Scene) throws -> Void
) throws {
    try withMount(vault, unlocked: unlocked, grace: grace, options: options) { mount in
        let probe = try Probe()
        let scene = Scene(mount: mount, probe: probe)
        try body(scene)
        scene.endProbe()
    }
}
