import Testing

@testable import latchkey

/// What the program offers at the cursor of an unfinished line.
@Suite struct CompletionTests {
    private func offered(_ line: String, behind: [String] = []) throws -> Completion {
        let grammar = try #require(Grammar.ofThisProgram())
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        return Completion(grammar, words: words + behind, at: words.count - 1)
    }

    private func words(_ line: String) throws -> [String] { try offered(line).candidates.map(\.word) }

    @Test func commands() throws {
        #expect(try words("").contains("lock"))
        #expect(try Set(words("slot ")) == ["list", "add", "remove", "test"])
        #expect(try words("help slot ").contains("remove"))
        #expect(try words("nothing ").isEmpty)
    }

    @Test func values() throws {
        #expect(try words("class set ").first == "complete")
        #expect(try Set(words("mount --when-locked ")) == ["fail", "freeze"])
        #expect(try Set(words("mount --transport ")) == ["auto", "io_uring", "device"])
        #expect(try Set(words("mount --freshness ")) == ["warn", "strict", "off"])
        #expect(try words("mount --when-locked=").contains("--when-locked=freeze"))
        #expect(try words("slot add ").contains("recovery-key"))
        // A number has no values.
        #expect(try offered("mount --grace ").candidates.isEmpty)
    }

    @Test func optionsAreOfferedOnceUnlessTheyRepeat() throws {
        #expect(try words("mount --").contains("--unlock"))
        #expect(try !words("mount --unlock --").contains("--unlock"))
        #expect(try words("mount -o ro -").contains("-o"))
        #expect(try words("mount -- --").isEmpty)
        // A hidden option is nothing for a person.
        #expect(try !words("mount --").contains("--ready-fd"))
    }

    @Test func paths() throws {
        #expect(try offered("init ").paths == .directories)
        #expect(try offered("mount a ").paths == .directories)
        #expect(try offered("mount a b ").paths == .none)
        #expect(try offered("explain a ").paths == .files)
        #expect(try offered("class set complete ").paths == .files)
        #expect(try offered("unlock --passcode-file ").paths == .files)
        #expect(try offered("unlock --passcode-file=").paths == .files)
        // Another command, whose options are its own.
        #expect(try offered("hold --for 10m rsync ").paths == .files)
        #expect(try offered("hold --for 10m rsync --any ").paths == .files)
        #expect(try words("hold --for 10m rsync --").isEmpty && words("hold --").contains("--because"))
    }

    @Test func placesOfThisMachine() throws {
        #expect(try offered("lock ").source == .mountsAndNames)
        #expect(try offered("close ").source == .mountsAndNames)
        #expect(try offered("unlock --passcode-file a ").source == .mountsAndNames)
        #expect(try offered("mount ").source == .names)
        #expect(try offered("mount a ").source == nil)
        #expect(try offered("open ").source == .names)
        #expect(try offered("open ").paths == .none)
        #expect(try offered("slot remove ").source == .slots(of: nil))
        #expect(try offered("slot remove ", behind: ["--recovery", "vault"]).source == .slots(of: "vault"))
    }

    @Test func scriptsOfAllShells() {
        for shell in ["bash", "zsh", "fish"] {
            #expect(CompletionScript.of(shell)?.contains(CompletionAnswer.request) == true)
            #expect(CompletionScript.requested(by: ["--generate-completion-script", shell]) != nil)
        }
        #expect(CompletionScript.requested(by: ["--generate-completion-script", "tcsh"]) == nil)
        #expect(CompletionScript.requested(by: ["lock"]) == nil)
    }
}
