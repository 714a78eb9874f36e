import Foundation
import Glibc
import TestSupport
import Testing

// init --erase-after, and the counting of wrong passcodes.

extension MountTests.Erasing {
    /// The last wrong passcode through an unlocked mount: no key stays on the disk or in memory.
    @Test func afterWrongPasscodes() throws {
        let vault = try Vault(["--erase-after", "4"])
        let deviceKey = try vault.deviceKeyFile()
        let mount = try MountedVault(vault)
        defer { mount.detach() }
        try shell("echo secret > b", in: mount.path).succeeded()
        for left in [3, 2, 1] {
            let file = try vault.folder.write("wrong \(left)", to: "guess")
            // The same wrong passcode again counts once.
            for _ in 1...(left > 1 ? 2 : 1) {
                let outcome = try vault.latchkey(["unlock", "--passcode-file", file, mount.path])
                let words =
                    "\(left) of 4 attempts \(left == 1 ? "is" : "are") left before the vault's keys are erased"
                #expect(outcome.status == 3 && outcome.errors.contains("wrong passcode; \(words)"), "\(outcome)")
            }
            let status = try vault.latchkey(["status", mount.path]).succeeded().text
            #expect(status.contains("\(left) of 4 attempts"), "\(status)")
            let json = try vault.latchkey(["status", "--json", mount.path]).succeeded().text
                .filter { !$0.isWhitespace }
            #expect(json.contains(#""guesses":{"left":\#(left),"limit":4}"#), "\(json)")
        }
        let file = try vault.folder.write("wrong 4", to: "guess")
        let refused = try vault.latchkey(["unlock", "--passcode-file", file, mount.path])
        #expect(refused.status == 3 && refused.errors.contains("nothing was tried"), "\(refused)")
        #expect(refused.errors.contains("--last-try") && Disk.exists(vault.keybag), "\(refused)")
        // A client without support for the question is refused as well.
        let answer = try bareCall("TestSlot", #"{"secret": 0}"#, secrets: ["wrong 5"], of: mount)
        #expect(answer.contains("io.latchkey.LastGuess"), "\(answer)")
        #expect(try Data(contentsOf: URL(filePath: deviceKey + ".tries"))[24] == 3)
        let last = try vault.latchkey(["unlock", "--last-try", "--passcode-file", file, mount.path])
        let words = "That was the last of 4 attempts, so the vault's keys were erased"
        #expect(last.status == 3 && last.errors.contains(words), "\(last)")
        mount.daemon.wait()
        #expect(!Disk.exists(vault.keybag) && !Disk.exists(deviceKey))
    }

    /// The same without a mount, by every command that takes a passcode.
    @Test func afterWrongPasscodesElsewhere() throws {
        let vault = try Vault(["--erase-after", "4"])
        let file = vault.folder.path("guess")
        let point = try vault.folder.makeFolder("point")
        let commands = [
            ["slot", "test", "--passcode-file", file, vault.path],
            ["passwd", "--passcode-file", file, "--new-passcode-file", vault.passcodeFile, vault.path],
            ["fsck", "--passcode-file", file, vault.path],
            ["mount", "--unlock", "--passcode-file", file, vault.path, point],
        ]
        for (number, command) in commands.enumerated() where number < 3 {
            _ = try vault.folder.write("wrong \(number)", to: "guess")
            let outcome = try vault.latchkey(command)
            #expect(outcome.status == 3 && outcome.errors.contains("\(3 - number) of 4 attempts"), "\(outcome)")
        }
        _ = try vault.folder.write("wrong 3", to: "guess")
        let backup = ["keybag", "backup", "--passcode-file", file, vault.folder.path("backup"), vault.path]
        let others = [
            ["slot", "remove", "--passcode-file", file, "2", vault.path],
            ["slot", "add", "recovery-key", "--passcode-file", file, vault.path],
        ]
        for command in commands + others + [backup] {
            let outcome = try vault.latchkey(command)
            #expect(outcome.status == 3 && outcome.errors.contains("nothing was tried"), "\(outcome)")
        }
        let last = try vault.latchkey(commands[3] + ["--last-try"])
        #expect(last.status == 3 && last.errors.contains("the last of 4 attempts, so"), "\(last)")
        #expect(!Disk.exists(vault.keybag))
    }

    /// The user is asked first, and nothing is tried before he confirms. A right passcode resets the count.
    @Test(arguments: [
        ["unlock"], ["mount", "--unlock"], ["mount", "--unlock", "--foreground"], ["slot", "test"],
    ])
    func theLastAttemptIsAskedFor(by command: [String]) throws {
        let vault = try Vault(["--erase-after", "4"])
        let count = try vault.deviceKeyFile() + ".tries"
        let mount = command[0] == "unlock" ? try MountedVault(vault, unlocked: false) : nil
        defer { mount?.detach() }
        let places =
            switch command[0] {
            case "unlock": [mount!.path]
            case "mount": [vault.path, try vault.folder.makeFolder("point")]
            default: [vault.path]
            }
        func failThreeTimes() throws {
            for number in 1...3 {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                let place = mount?.path ?? vault.path
                #expect(try vault.latchkey(["slot", "test", "--passcode-file", file, place]).status == 3)
            }
        }
        func trying(_ passcode: String, _ word: String) throws -> Outcome {
            // The process that becomes the daemon has not kept the passcode.
            let first = ("Passcode of \(vault.path): ", passcode)
            let again = command.contains("--foreground") && word == "erase" ? [first] : []
            return try vault.latchkey(
                command + places,
                answering: [first, ("Type erase to try it all the same: ", word)] + again)
        }
        try failThreeTimes()
        for word in ["", "no", "Erase"] {
            let outcome = try trying("wrong 4", word)
            #expect(outcome.status == 3 && outcome.text.contains("nothing was tried"), "\(outcome)")
            #expect(try Data(contentsOf: URL(filePath: count))[24] == 3)
        }
        if !command.contains("--foreground") {
            try trying(Vault.passcode, "erase").succeeded()
            #expect(try Data(contentsOf: URL(filePath: count))[24] == 0)
            if command[0] == "mount" { try vault.latchkey(["unmount", places[1]]).succeeded() }
            try failThreeTimes()
        }
        let last = try trying("wrong 4", "erase")
        #expect(last.status == 3 && last.text.contains("the last of 4 attempts, so"), "\(last)")
        mount?.daemon.wait()
        #expect(!Disk.exists(vault.keybag))
    }

    /// A policy may allow only one wrong passcode. Then every attempt is the last and is asked about, also with the
    /// right one. A command that needs the passcode twice asks once, and a passcode that a recovery has just set is
    /// no guess.
    @Test func eachAttemptIsTheLast() throws {
        let policy = try TemporaryFolder()
        let rules = try policy.write("erase-after = 1\n", to: "policy.toml")
        let vault = try Vault(["--policy", rules], in: policy)
        let key = vault.folder.path("key")
        let add = ["slot", "add", "key-file", "--new-file", key, "--passcode-file", vault.passcodeFile]
        let refused = try vault.latchkey(add + [vault.path])
        #expect(refused.status == 3 && refused.errors.contains("this is the only attempt"), "\(refused)")
        try vault.latchkey(add + ["--last-try", vault.path]).succeeded()
        let phrase = try vault.folder.write("tundra velvet quorum ostrich dab", to: "phrase")
        let backup = ["keybag", "backup", "--passphrase-file", phrase, "--kdf-memory", "19", "--kdf-passes", "2"]
        try vault.latchkey(
            backup + ["--passcode-file", vault.passcodeFile, "--last-try", vault.folder.path("backup"), vault.path]
        ).succeeded()
        let point = try vault.folder.makeFolder("point")
        try vault.latchkey([
            "mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file",
            vault.passcodeFile, vault.path, point,
        ]).succeeded()
        let rotate = ["rotate", "--yes", "--passcode-file", vault.passcodeFile, "--recovery-key-file"]
        #expect(try vault.latchkey(rotate + [vault.folder.path("new"), point]).status == 3)
        try vault.latchkey(rotate + [vault.folder.path("new"), "--last-try", point]).succeeded()
        try vault.latchkey(["unmount", point]).succeeded()
    }

    /// Many wrong passcodes at once, by the daemon and by commands, all without --last-try: the last attempt is not
    /// made.
    @Test func noProcessRacesPastTheLastAttempt() throws {
        let vault = try Vault(["--erase-after", "4"])
        let copy = vault.folder.path("copy")
        try run("cp", ["-a", vault.path, copy]).succeeded()
        let count = try vault.deviceKeyFile() + ".tries"
        let environment = ["XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
            .map { "export \($0)='\(vault.environment[$0] ?? "")'; " }.joined()
        try withMount(vault, unlocked: false) { mount in
            let guesses = try (1...8).map { number in
                let file = try vault.folder.write("wrong \(number)", to: "guess\(number)")
                let place = number % 2 == 0 ? mount.path : copy
                return "'\(Built.latchkey)' slot test --passcode-file \(file) \(place) 2>> errors & "
            }
            try shell(environment + guesses.joined() + "wait", in: vault.folder.path("")).succeeded()
            let errors = try String(contentsOfFile: vault.folder.path("errors"), encoding: .utf8)
            #expect(errors.components(separatedBy: "wrong passcode; ").count == 4, "\(errors)")
            #expect(try Data(contentsOf: URL(filePath: count))[24] == 3, "\(errors)")
            #expect(Disk.exists(vault.keybag) && Disk.exists(copy + "/lk.keybag"))
        }
    }

    private func guessing(_ commands: [[String]]) throws -> Outcome? {
        var last: Outcome?
        for (number, command) in commands.enumerated() {
            let file = try vault.folder.write("wrong \(number)", to: "guess")
            last = try vault.latchkey(command.map { $0 == "GUESS" ? file : $0 })
        }
        return last
    }

    /// If the key cannot be removed, the command says so, no keys stay in memory, and no passcode is tried any
    /// more.
    @Test(.enabled(if: Immutable.isAvailable, Immutable.why))
    func afterWrongPasscodesWhereNothingCanBeRemoved() throws {
        let vault = try Vault(["--erase-after", "4"])
        let deviceKey = try vault.deviceKeyFile()
        let fixed = [vault.keybag, deviceKey].map { "'\($0)'" }.joined(separator: " ")
        let mount = try MountedVault(vault)
        defer {
            mount.detach()
            _ = try? shell("chattr -i \(fixed)", in: "/")
        }
        try shell("chattr +i \(fixed)", in: "/")
        var last: Outcome?
        for number in 1...4 {
            let file = try vault.folder.write("wrong \(number)", to: "guess")
            last = try vault.latchkey(["unlock", "--last-try", "--passcode-file", file, mount.path])
        }
        #expect(last?.errors.contains("not all could be destroyed") == true, "\(String(describing: last))")
        mount.daemon.wait()
        let test = ["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]
        let after = try vault.latchkey(test)
        #expect(after.status == 3 && after.errors.contains("were erased"), "\(after)")
    }

    /// By a command that opens the keybag beside the daemon: the mount ends, too.
    @Test func afterWrongPasscodesBesideTheMount() throws {
        let vault = try Vault(["--erase-after", "4"])
        let mount = try MountedVault(vault)
        defer { mount.detach() }
        for number in 1...4 {
            let file = try vault.folder.write("wrong \(number)", to: "guess")
            let output = vault.folder.path("b\(number)")
            let outcome = try vault.latchkey(
                ["keybag", "backup", "--last-try", "--passcode-file", file, output, mount.path])
            #expect(outcome.status == 3 && outcome.errors.contains("were erased") == (number == 4), "\(outcome)")
        }
        mount.daemon.wait()
    }

    /// By a copy that shares the device key: the mount of the original can no longer be unlocked. The original's
    /// keybag stays, and the recovery key opens it.
    @Test func afterWrongPasscodesAtACopy() throws {
        let vault = try Vault(["--erase-after", "4"])
        let copy = vault.folder.path("copy")
        try withMount(vault) { try shell("echo secret > a", in: $0.path).succeeded() }
        try run("cp", ["-a", vault.path, copy]).succeeded()
        let mount = try MountedVault(vault)
        defer { mount.detach() }
        try vault.latchkey(["lock", "--now", mount.path]).succeeded()
        for number in 1...4 {
            let file = try vault.folder.write("wrong \(number)", to: "guess")
            #expect(try vault.latchkey(["slot", "test", "--last-try", "--passcode-file", file, copy]).status == 3)
        }
        let outcome = try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, mount.path])
        #expect(outcome.status == 3 && outcome.errors.contains("were erased"), "\(outcome)")
        mount.daemon.wait()
        try withMount(
            vault, unlocked: false,
            options: [
                "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", vault.passcodeFile,
            ]
        ) { mount in
            let text = try shell("cat a", in: mount.path).text
            #expect(text == "secret\n")
        }
    }

    // MARK: Counting

    /// Several attempts at once wait for each other: each is counted.
    @Test func fourGuessesAtOnce() throws {
        let guesses = try (1...4).map { try vault.folder.write("wrong \($0)", to: "guess\($0)") }
        try withMount(vault, unlocked: false) { mount in
            let command = guesses.map { "'\(Built.latchkey)' slot test --passcode-file \($0) \(mount.path) & " }
                .joined()
            let environment = ["XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
                .map { "export \($0)='\(vault.environment[$0] ?? "")'; " }.joined()
            try shell(environment + command + "wait", in: vault.folder.path("")).succeeded()
        }
        let record = try Data(contentsOf: URL(filePath: deviceKey + ".tries"))
        #expect(record.count == 40 && record[24] == 4)
        let fifth = try vault.latchkey(["slot", "test", "--passcode-file", guesses[0] + "0", vault.path])
        #expect(fifth.status == 1, "no such file: \(fifth)")
        _ = try vault.folder.write("wrong 5", to: "guess5")
        let path = vault.folder.path("guess5")
        #expect(try vault.latchkey(["slot", "test", "--passcode-file", path, vault.path]).status == 3)
        let sixth = try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path])
        #expect(sixth.status == 3 && sixth.errors.contains("too many wrong passcodes"), "\(sixth)")
        try withMount(
            vault, unlocked: false,
            options: ["--recovery", "--recovery-key-file", vault.recoveryKeyFile]
                + ["--passcode-file", vault.passcodeFile]
        ) { mount in
            let text = try shell("cat b", in: mount.path).text
            #expect(text == "secret\n")
        }
    }

    /// If the device key's disk is full, the count stays and the right passcode still opens the vault.
    @Test(.enabled(if: LoopDisk.isAvailable)) func onAFullDisk() throws {
        let disk = try LoopDisk(size: "16M")
        let key = disk.path + "/device.key"
        let vault = try Vault(["--device-key", key])
        let filling = try attemptShell("head -c 100M /dev/zero > full", in: disk.path)
        #expect(filling.errors.contains("No space left"), "\(filling)")
        let guess = try vault.folder.write("wrong", to: "guess")
        let options = ["--device-key", key, vault.path]
        #expect(try vault.latchkey(["slot", "test", "--passcode-file", guess] + options).status == 3)
        #expect(try Data(contentsOf: URL(filePath: key + ".tries"))[24] == 1)
        try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile] + options).succeeded()
        #expect(try Data(contentsOf: URL(filePath: key + ".tries"))[24] == 0)
    }

    /// Any file type in the count's path: the vault opens.
    @Test(arguments: ["mkdir", "mkfifo", "ln -s /nowhere", "touch x; chattr +i"]) func whereNothingCanBeCounted(
        making: String
    ) throws {
        let count = deviceKey + ".tries"
        let make = making.hasPrefix("touch") ? "touch '\(count)'; chattr +i" : making
        defer { _ = try? shell("chattr -i '\(count)'", in: "/") }
        try shell("rm -f '\(count)'; \(make) '\(count)'", in: "/").succeeded()
        try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        let guess = try vault.folder.write("wrong", to: "guess")
        #expect(try vault.latchkey(["slot", "test", "--passcode-file", guess, vault.path]).status == 3)
    }

    /// A device key whose name is too long for a count beside it, and one inside the vault.
    @Test func whereNoDeviceKeyBelongs() throws {
        let path = vault.folder.path("made")
        let names = [
            (vault.folder.path(String(repeating: "n", count: 251)), "name too long"),
            (path + "/k", "lies in the vault"),
        ]
        for (key, words) in names {
            let outcome = try vault.latchkey([
                "init", path, "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", vault.passcodeFile,
                "--recovery-key-file", path + ".key", "--device-key", key,
            ])
            #expect(outcome.status == 1 && outcome.errors.lowercased().contains(words), "\(outcome)")
            #expect(!Disk.exists(path) && !Disk.exists(key))
        }
        let export = try vault.latchkey(["device-key", "export", vault.path + "/k", vault.path])
        #expect(export.status == 1 && export.errors.contains("lies in the vault"), "\(export)")
    }
}
