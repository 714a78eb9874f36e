import Format
import Testing

@testable import VaultNames

/// What a configuration may say, and which line is wrong.
@Suite struct ParsingTests {
    private let folders = UserFolders { ["HOME": "/home/ann"][$0] }

    private func parse(_ text: String) throws(NamedVaultsError) -> NamedVaults {
        try NamedVaults(parsing: text, path: "config.toml", folders)
    }

    private func refusal(_ text: String) -> String? {
        do throws(NamedVaultsError) { _ = try parse(text) } catch { return error.description }
        return nil
    }

    @Test func everyKey() throws {
        let vaults = try parse(
            """
            # mine
            [vaults.work]
            folder = "~/Vaults/work/"
            mount = "/srv//work"
            default-class = "complete"
            grace = 0
            lock-when-idle = 600
            forget-after = 72
            when-locked = "freeze"
            freeze-timeout = 30
            lease = 30
            shared = false
            store-risk = "accept"
            transport = "device"
            freshness = "strict"
            read-only = true
            allow-other = false
            options = ["noexec", "fsname=w"]
            device-key = "~/keys/work.key"
            policy = "/etc/strict.toml"
            guard-mount-point = true
            passcode-command = "pass show work"
            lock-on = ["sleep", "session-lock"]
            unlock-at-login = true

            [vaults.'ärger.2']
            folder = '/v'
            """)
        #expect(vaults.vaults.map(\.name.text) == ["work", "ärger.2"])
        let work = try #require(vaults["work"])
        #expect(work.line == 2 && work.folder == "/home/ann/Vaults/work" && work.mountPoint == "/srv/work")
        #expect(work.defaultClass == .complete && work.grace == 0 && work.lockWhenIdle == 600)
        #expect(work.forgetAfter == 72 && work.lease == 30 && work.isShared == false && work.storeRisk == .accept)
        #expect(work.transport == .device && work.freshness == .strict && vaults["ärger.2"]?.storeRisk == nil)
        #expect(work.whenLocked == .freeze && work.freezeTimeout == 30)
        #expect(work.isReadOnly == true && work.allowsOthers == false && work.options == ["noexec", "fsname=w"])
        #expect(work.deviceKey == "/home/ann/keys/work.key" && work.policy == "/etc/strict.toml")
        #expect(work.guardsMountPoint == true && work.passcodeCommand == "pass show work")
        #expect(work.lines.count == NamedVault.Key.allCases.count && work.lines[.guardMountPoint] == 21)
        let other = try #require(vaults["ärger.2"])
        #expect(work.lockOn == [.sleep, .sessionLock] && work.unlocksAtLogin == true && other.unlocksAtLogin == nil)
        #expect(other.mountPoint == "/home/ann/ärger.2" && other.line == 26 && other.lockOn == nil)
        #expect(other.grace == nil && other.whenLocked == nil && other.guardsMountPoint == nil)
        #expect(vaults["other"] == nil)
    }

    @Test func everyLineIsASentence() throws {
        let vaults = try parse("[vaults.w]\nmount = '/m'\n\ngrace = 1\nfolder = '/v'\nread-only = false")
        #expect(
            vaults.vaults[0].statements == [
                Statement(line: 1, sentence: "w: a vault, mounted on /m."),
                Statement(line: 4, sentence: "w: its grace is 1 second."),
                Statement(line: 5, sentence: "w: its folder is /v."),
                Statement(line: 6, sentence: "w: it is mounted for reading and writing."),
            ])
    }

    @Test(arguments: ["", "# nothing\n", "[vaults]\n"]) func nothing(text: String) throws {
        #expect(try parse(text).vaults.isEmpty)
    }

    @Test(
        arguments: [
            ("\nx = 1", "line 2: there is no key x before the first table"),
            ("[vault.w]", "line 1: there is no table vault.w: a vault's is vaults.NAME, the agent's is agent"),
            ("[vaults.w.x]", "line 1: there is no table vaults.w.x: a vault's is vaults.NAME, the agent's is agent"),
            ("[vaults]\nx = 1", "line 2: there is no key x in the table vaults"),
            ("[vaults.w]", "line 1: the vault w has no folder"),
            ("[vaults.w]\nfolder = '/v'\ngraec = 1", "line 3: there is no key graec"),
            ("[vaults.w]\nfolder = '/v'\nfolder = '/w'", "line 3: folder is there already, in line 2"),
            ("[vaults.w]\nfolder = '/v'\n[vaults.w]", "line 3: the table vaults.w is there already, in line 1"),
            ("[vaults.'a/b']", "line 1: a name has no slash, which would make it a path"),
            ("[vaults.-w]", "line 1: a name does not begin with a minus, as an option does"),
            ("[vaults.w]\nfolder = '/v'\ngrace = 3601", "line 3: grace takes a whole number from 0 to 3600"),
            ("[vaults.w]\nfolder = '/v'\ngrace = '1'", "line 3: grace takes a whole number from 0 to 3600"),
            ("[vaults.w]\nfolder = '/v'\nlease = 61", "line 3: lease takes a whole number from 1 to 60"),
            ("[vaults.w]\nfolder = '/v'\nlease = 0", "line 3: lease takes a whole number from 1 to 60"),
            ("[vaults.w]\nfolder = '/v'\nshared = 'yes'", "line 3: shared takes true or false"),
            (
                "[vaults.w]\nfolder = '/v'\nread-only = true\nshared = true",
                "line 4: shared does not go with read-only = true, or with when-locked = \"freeze\""
            ),
            ("[vaults.w]\nfolder = '/v'\nstore-risk = 'yes'", "line 3: store-risk takes \"refuse\" or \"accept\""),
            ("[vaults.w]\nfolder = '/v'\nread-only = 1", "line 3: read-only takes true or false"),
            ("[vaults.w]\nfolder = '/v'\nwhen-locked = 'wait'", "line 3: when-locked takes \"fail\" or \"freeze\""),
            (
                "[vaults.w]\nfolder = '/v'\nfreeze-timeout = 5",
                "line 3: freeze-timeout goes with when-locked = \"freeze\""
            ),
            (
                "[vaults.w]\nfolder = '/v'\n[vaults.x]\nmount = '/x'\nfolder = '/v/'",
                "line 5: the folder /v is that of the vault w already, in line 2"
            ),
            (
                "[vaults.w]\nfolder = '/v'\n[vaults.x]\nfolder = '/x'\nmount = '~/w'",
                "line 5: the mount point /home/ann/w is that of the vault w already, in line 1"
            ),
            (
                "[vaults.w]\nfolder = '/v'\nmount = '/v/m'",
                "line 3: the mount point /v/m and the folder /v lie in each other"
            ),
        ]) func refusals(text: String, problem: String)
    {
        #expect(refusal(text) == "config.toml, \(problem)")
    }

    @Test(arguments: ["v", "./v", "~", "~ann/v", "$HOME/v", "", "/", "/a/../b", "~/.."]) func noPath(text: String) {
        #expect(
            refusal("[vaults.w]\nfolder = '\(text)'")
                == "config.toml, line 2: folder takes a path in quotes that begins with / or ~/, and has no .. in it")
    }

    @Test(arguments: ["w", "work-2", "a.b", "ä", "日本", String(repeating: "x", count: 64), "a:b", "w~"])
    func names(text: String) {
        #expect(VaultName(text)?.text == text)
    }

    @Test(arguments: [
        "", "-w", ".w", ".", "..", "a/b", "/w", "~w", "a b", "a\u{a0}b", "a\tb", "a\u{200b}b", "a\u{202e}b", "a\"b",
        "a'b",
        #"a\b"#, String(repeating: "x", count: 65), String(repeating: "é", count: 33), "a\u{0}",
    ]) func noNames(text: String) {
        #expect(VaultName(text) == nil)
    }

    @Test func pathsAreBytesAndNamesAreNot() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let head = "[vaults.one]\nfolder = '/v/\(composed)'\nmount = '/m/\(composed)'\n"
        #expect(
            try parse(head + "[vaults.two]\nfolder = '/v/\(decomposed)'\nmount = '/m/\(decomposed)'\n").vaults.count
                == 2)
        #expect(refusal(head + "[vaults.two]\nfolder = '/v/\(composed)'\n") != nil)
        let names = "[vaults.'\(composed)']\nfolder = '/a'\n[vaults.'\(decomposed)']\nfolder = '/b'\n"
        #expect(refusal(names) != nil)
        #expect(try parse("[vaults.'\(composed)']\nfolder = '/a'\n")[decomposed]?.folder == "/a")
    }

    @Test func foldersOfTheUser() {
        let none = UserFolders { _ in nil }
        #expect(none.namedVaults == "/root/.config/latchkey/config.toml" && none.data == "/root/.local/share/latchkey")
        let set = UserFolders { ["HOME": "/h/", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative"][$0] }
        #expect(set.namedVaults == "/c/latchkey/config.toml" && set.data == "/h/.local/share/latchkey")
        #expect(set.abbreviated("/h/x") == "~/x" && set.abbreviated("/hx") == "/hx")
    }
}
