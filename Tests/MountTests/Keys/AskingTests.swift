import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The passcode without a terminal: a program asks for it.
    @Suite struct PasscodesWithoutATerminal {
        /// The same three tries as at a terminal, and the person learns why it is asked again.
        @Test(arguments: [["unlock"], ["mount", "--unlock"], ["slot", "test"], ["fsck", "--unlock"]])
        func threeTries(command: [String]) throws {
            let vault = try Vault()
            let mount = command[0] == "unlock" ? try MountedVault(vault, unlocked: false) : nil
            defer { mount?.detach() }
            let point = vault.folder.path("point")
            let places = command[0] == "mount" ? [vault.path, try vault.folder.makeFolder("point")] : [vault.path]
            let third = try Asker(typing: "a", "b", Vault.passcode, in: vault.folder, name: "third")
            let opened = try vault.latchkey(command + places, askingBy: ["LATCHKEY_ASKPASS": third.path])
            #expect(opened.status == 0, "\(opened)")
            let again = "The passcode is wrong; nothing was changed. Passcode of \(vault.path): "
            let questions = third.questions()
            #expect(questions.first == "Passcode of \(vault.path): " && questions.count == 3, "\(questions)")
            #expect(questions.dropFirst().allSatisfy { $0.hasPrefix("The passcode is wrong") }, "\(questions) \(again)")
            #expect(questions.allSatisfy { $0.hasSuffix("Passcode of \(vault.path): ") }, "\(questions)")
            if command[0] == "mount" { try vault.latchkey(["unmount", point]).succeeded() }

            let none = try Asker(typing: "c", "d", "e", Vault.passcode, in: vault.folder, name: "none")
            let refused = try vault.latchkey(command + places, askingBy: ["LATCHKEY_ASKPASS": none.path])
            #expect(refused.status == 3 && none.questions().count == 3, "\(refused) \(none.questions())")
            #expect(try Disk.read(try vault.deviceKeyFile() + ".tries")[24] == 3)
        }

        /// A new one is asked for twice, until both are the same.
        @Test func newPasscodes() throws {
            let vault = try Vault()
            let (better, new) = ("tundra velvet quorum ostrich dab", vault.folder.path("new"))
            let first = try Asker(typing: better, "else", better, better, in: vault.folder, name: "first")
            let cheap = ["--kdf-memory", "19", "--kdf-passes", "2", "--recovery-key-file", vault.folder.path("other")]
            let made = try vault.latchkey(["init", new] + cheap, askingBy: ["LATCHKEY_ASKPASS": first.path])
            #expect(made.status == 0, "\(made)")
            #expect(
                first.questions() == [
                    "Passcode of \(new): ", "Passcode of \(new), the same again: ",
                    "The two differ. Passcode of \(new): ", "Passcode of \(new), the same again: ",
                ])
            let changer = try Asker(typing: "a", Vault.passcode, better, better, in: vault.folder, name: "changer")
            let changed = try vault.latchkey(["passwd", vault.path], askingBy: ["LATCHKEY_ASKPASS": changer.path])
            #expect(changed.status == 0 && changer.questions().count == 4, "\(changed) \(changer.questions())")
            let file = try vault.folder.write(better, to: "better")
            for path in [new, vault.path] {
                try vault.latchkey(["slot", "test", "--passcode-file", file, path]).succeeded()
            }
        }

        /// What no person types is refused and not tried; so is what was cancelled.
        @Test func whatIsNotTried() throws {
            let vault = try Vault(["--erase-after", "4"])
            let print = "printf '%s\\n' '\(Vault.passcode)'"
            for (number, (answer, status, words)) in [
                ("\(print); exit 1", 1, "you cancelled"), ("\(print); exit 7", 1, "ended with exit code 7"),
                ("\(print); kill -TERM $$", 1, "was ended by signal 15"),
                ("\(print); echo url: x", 2, "has a second line"), ("printf 'x\\r\\n'", 2, "has a carriage return"),
                ("printf 'x\\0y\\n'", 1, "has a NUL byte"), ("true", 1, "no passcode in the answer of"),
                ("echo", 1, "no passcode in the answer of"), ("cat", 1, "no passcode in the answer of"),
                ("head -c 1048576 /dev/zero | tr '\\0' x", 1, "longer than 1024 bytes"),
                ("yes", 1, "longer than 1024 bytes"), ("yes | tr -d '\\n'", 1, "longer than 1024 bytes"),
                ("exec >&-; exit 1", 1, "you cancelled"),
            ].enumerated() {
                let asker = try Asker([answer], in: vault.folder, name: "asker\(number)")
                let outcome = try vault.latchkey(
                    ["slot", "test", vault.path], askingBy: ["LATCHKEY_ASKPASS": asker.path])
                #expect(Int(outcome.status) == status && outcome.errors.contains(words), "\(answer): \(outcome)")
                #expect(!outcome.errors.contains(Vault.passcode) && asker.questions().count == 1, "\(outcome)")
            }
            // What it has left running keeps nothing waiting.
            let child = vault.folder.path("child")
            let parent = try Asker(["\(print); sleep 100 & echo $! >'\(child)'"], in: vault.folder, name: "parent")
            let opened = try vault.latchkey(["slot", "test", vault.path], askingBy: ["LATCHKEY_ASKPASS": parent.path])
            #expect(opened.status == 0, "\(opened)")
            try shell("kill $(cat '\(child)')")
            for path in ["/no/such/program", vault.passcodeFile, "no-such-program"] {
                let outcome = try vault.latchkey(["slot", "test", vault.path], askingBy: ["LATCHKEY_ASKPASS": path])
                #expect(outcome.status == 1 && outcome.errors.contains("LATCHKEY_ASKPASS names"), "\(outcome)")
            }
        }

        /// Which program asks, by the rules of ssh.
        @Test func whichProgram() throws {
            let vault = try Vault()
            let tools = try vault.bareTools()
            let asks = { (variables: [String: String]) -> String? in
                let own = try Asker(typing: Vault.passcode, in: vault.folder, name: "own")
                let ssh = try Asker(typing: Vault.passcode, in: vault.folder, name: "ssh")
                defer { own.forget(); ssh.forget() }
                let named = variables.mapValues { $0 == "own" ? own.path : $0 == "ssh" ? ssh.path : $0 }
                // Of this machine, no other program takes part.
                let outcome = try vault.latchkey(
                    ["slot", "test", vault.path], askingBy: named.merging(["PATH": tools]) { $1 })
                #expect((outcome.status == 0) == (own.questions().count + ssh.questions().count == 1), "\(outcome)")
                return own.questions().isEmpty ? ssh.questions().isEmpty ? nil : "ssh" : "own"
            }
            let (own, ssh) = (["LATCHKEY_ASKPASS": "own"], ["SSH_ASKPASS": "ssh"])
            let display = ["DISPLAY": ":77"]
            #expect(try asks(own) == "own")
            #expect(try asks(ssh) == nil)
            #expect(try asks(ssh.merging(display) { $1 }) == "ssh")
            #expect(try asks(ssh.merging(["WAYLAND_DISPLAY": "wayland-7"]) { $1 }) == "ssh")
            #expect(try asks(ssh.merging(["DISPLAY": ""]) { $1 }) == nil)
            #expect(try asks(own.merging(ssh) { $1 }.merging(display) { $1 }) == "own")
            #expect(try asks(ssh.merging(["SSH_ASKPASS_REQUIRE": "force"]) { $1 }) == "ssh")
            #expect(try asks(ssh.merging(["SSH_ASKPASS_REQUIRE": "prefer"]) { $1 }) == nil)
            #expect(try asks(own.merging(["SSH_ASKPASS_REQUIRE": "never"]) { $1 }) == nil)
            #expect(try asks(own.merging(["LATCHKEY_ASKPASS": ""]) { $1 }) == nil)
        }

        /// A terminal is asked before a program, unless the user prefers that; also if standard input is /dev/null.
        @Test(arguments: [false, true]) func atATerminal(withoutInput: Bool) throws {
            let folder = try TemporaryFolder()
            let asker = try Asker(typing: Vault.passcode, Vault.passcode, in: folder)
            let vault = try Vault(in: folder, variables: ["LATCHKEY_ASKPASS": asker.path])
            let question = "Passcode of \(vault.path): "
            let typed = try vault.latchkey(
                ["slot", "test", vault.path], answering: [(question, Vault.passcode)], withoutInput: withoutInput)
            #expect(typed.status == 0 && asker.questions().isEmpty, "\(typed)")
            for (number, requirement) in ["prefer", "force"].enumerated() {
                let asked = try vault.latchkey(
                    ["slot", "test", vault.path], answering: [], withoutInput: withoutInput,
                    variables: ["SSH_ASKPASS_REQUIRE": requirement])
                #expect(asked.status == 0 && asker.questions().count == number + 1, "\(asked)")
            }
        }

        /// What is piped in, and what an option names, is taken before all that.
        @Test func whatAScriptGives() throws {
            let folder = try TemporaryFolder()
            let asker = try Asker(typing: "wrong", in: folder)
            let variables = ["LATCHKEY_ASKPASS": asker.path, "SSH_ASKPASS_REQUIRE": "force"]
            let vault = try Vault(in: folder, variables: variables)
            try vault.latchkey(["slot", "test", vault.path], input: Array("\(Vault.passcode)\n".utf8)).succeeded()
            let options = ["--passcode-file", vault.passcodeFile]
            try vault.latchkey(["slot", "test", vault.path] + options).succeeded()
            #expect(try vault.latchkey(["slot", "test", vault.path]).status == 1)
            #expect(asker.questions().isEmpty)
        }

        /// A standard input that is closed is as good as /dev/null.
        @Test func aClosedInput() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault, unlocked: false)
            defer { mount.detach() }
            let asker = try Asker(typing: "wrong", Vault.passcode, in: vault.folder)
            try attempt(
                "setsid", ["--wait", "sh", "-c", "exec \"$0\" \"$@\" <&-", Built.latchkey, "unlock", mount.path],
                environment: vault.environment.merging(["LATCHKEY_ASKPASS": asker.path]) { $1 }
            ).succeeded()
            #expect(asker.questions().count == 2)
        }

        /// Without anything that could ask, the message says what would.
        @Test func noProgram() throws {
            let vault = try Vault()
            let outcome = try vault.latchkey(["slot", "test", vault.path], askingBy: ["PATH": try vault.bareTools()])
            #expect(outcome.status == 1 && outcome.errors.contains("no passcode in standard input, and"), "\(outcome)")
            #expect(outcome.errors.contains("--passcode-file FILE"), "\(outcome)")
            #expect(outcome.errors.contains("try: LATCHKEY_ASKPASS="), "\(outcome)")
        }
    }
}
