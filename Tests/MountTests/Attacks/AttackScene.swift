import TestSupport
import Testing

/// A vault with a few files in it, unmounted: an attacker edits it, then it is mounted again and read.
struct AttackScene {
    static let first = [UInt8](seed: 1, count: 20_000)
    static let second = [UInt8](seed: 2, count: 20_000)
    static let single = [UInt8](seed: 3, count: 100)

    let vault: Vault
    /// Where the ciphertext of each file and folder lies, by its name in the mount.
    let backing: [String: String]

    static let names = ["first", "second", "single", "folder", "folder/inner", "other", "other/inner", "strict"]

    init() throws {
        vault = try Vault()
        backing = try withMount(vault) { [vault] mount in
            let probe = try Probe()
            let scene = Scene(mount: mount, probe: probe)
            try scene.makeFolder("folder")
            try scene.makeFolder("other", class: ProtectionClass.none)
            try scene.makeFile("first", Self.first)
            try scene.makeFile("second", Self.second)
            try scene.makeFile("single", Self.single)
            try scene.makeFile("folder/inner", Self.first)
            try scene.makeFile("other/inner", Self.second)
            try scene.makeFile("strict", class: .complete, Self.first)
            _ = vault
            return Dictionary(
                uniqueKeysWithValues: try Self.names.map { ($0, try mount.backingPath($0)) })
        }
    }

    func file(_ name: String) -> BackingFile {
        BackingFile(backing[name]!)
    }

    /// Mounts after the attack; every file that was not attacked must be whole.
    func afterwards(except attacked: Set<String>, _ body: (Scene) throws -> Void) throws {
        try withMount(vault) { mount in
            let scene = Scene(mount: mount, probe: try Probe())
            try body(scene)
            let expected = [
                "first": Self.first, "second": Self.second, "single": Self.single, "folder/inner": Self.first,
                "other/inner": Self.second, "strict": Self.first,
            ]
            for (name, contents) in expected where !attacked.contains(name) {
                #expect(try scene.probe.read(scene.path(name)) == .ok(contents.hexadecimal), "\(name) was not attacked")
            }
            scene.probe.process.send(9)
            scene.probe.process.wait()
        }
    }

    /// The file is refused: EIO at its open or at the read, a line in the daemon's log, and no byte of it readable.
    func expectRefused(_ names: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        try afterwards(except: Set(names)) { scene in
            for name in names {
                let logged = scene.mount.messages.count
                let answer = try scene.probe.read(scene.path(name))
                #expect(answer == .refused("EIO"), "\(name)", sourceLocation: sourceLocation)
                #expect(
                    scene.mount.logs(past: logged), "\(name): nothing is logged", sourceLocation: sourceLocation)
            }
        }
    }

    /// Blocks are refused one by one: EIO for the attacked ones, the right bytes for all others.
    func expectRefused(blocks: Set<Int>, of name: String, _ contents: [UInt8]) throws {
        try afterwards(except: [name]) { scene in
            let logged = scene.mount.messages.count
            try scene.probe.open(0, scene.path(name)).required("open of \(name)")
            for block in 0...(contents.count - 1) / 4096 {
                let range = block * 4096..<min(contents.count, (block + 1) * 4096)
                let answer = try scene.probe.pread(0, range.lowerBound, range.count)
                if blocks.contains(block) {
                    #expect(answer == .refused("EIO"), "\(name), block \(block)")
                } else {
                    #expect(try answer.bytes() == Array(contents[range]), "\(name), block \(block)")
                }
            }
            #expect(scene.mount.logs(past: logged), "nothing is logged")
        }
    }
}
