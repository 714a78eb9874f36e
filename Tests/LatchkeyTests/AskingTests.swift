import Administration
import Crypto
import Glibc
import Posix
import Testing

@testable import latchkey

@Suite struct AskingTests {
    private typealias Input = AskingSurroundings.Input
    private typealias Requirement = AskingSurroundings.Requirement

    /// All surroundings that can be.
    private func everySurrounding(_ body: (AskingSurroundings) -> Void) {
        let choices = [false, true]
        for input in Input.allCases {
            for requirement in [nil] + Requirement.allCases.map({ $0 as Requirement? }) {
                for number in 0..<64 {
                    let has = (0..<6).map { choices[number >> $0 & 1] }
                    body(
                        AskingSurroundings(
                            input: input, hasControllingTerminal: has[0], requirement: requirement, hasDisplay: has[1],
                            program: has[2] ? "/own" : nil, sshProgram: has[3] ? "/ssh" : nil,
                            pinentry: has[4] ? "/pinentry" : nil, agent: has[5] ? .user : nil))
                }
            }
        }
    }

    @Test func whatIsPipedInCountsAlone() {
        everySurrounding { here in
            #expect((here.ways == [.line]) == (here.input == .data), "\(here)")
            #expect(here.input == .data || !here.ways.contains(.line), "\(here)")
        }
    }

    @Test func aTerminalAsksUnlessAProgramIsPreferred() {
        everySurrounding { here in
            guard here.input != .data else { return }
            let hasTerminal = here.input == .terminal || here.hasControllingTerminal
            let isPreferred = here.requirement == .prefer || here.requirement == .force
            let isNamed = here.ways.contains { if case .program = $0 { true } else { false } }
            #expect((here.ways == [.terminal]) == (hasTerminal && !isNamed), "\(here)")
            #expect(!isNamed || !hasTerminal || isPreferred, "\(here)")
            #expect(!isNamed || here.ways.count == 1, "\(here)")
        }
    }

    @Test func theProgramsOfTheEnvironment() {
        everySurrounding { here in
            guard here.input == .nothing, !here.hasControllingTerminal else { return }
            let own = AskingWay.program("/own", variable: "LATCHKEY_ASKPASS")
            let ssh = AskingWay.program("/ssh", variable: "SSH_ASKPASS")
            let sshCounts = here.sshProgram != nil && (here.hasDisplay || here.requirement == .force)
            let expected: AskingWay? =
                here.requirement == .never ? nil : here.program != nil ? own : sshCounts ? ssh : nil
            if let expected {
                #expect(here.ways == [expected], "\(here)")
            } else if here.requirement == .never {
                #expect(here.ways.isEmpty, "\(here)")
            } else {
                let window: [AskingWay] = here.pinentry != nil && here.hasDisplay ? [.pinentry("/pinentry")] : []
                let agent: [AskingWay] = here.agent != nil ? [.passwordAgent(.user)] : []
                #expect(here.ways == window + agent, "\(here)")
            }
        }
    }

    @Test func aQuestionIsOneShortLine() {
        let name = String(repeating: "ä<b>&%", count: 1000) + "\n\u{202e}\u{1b}[2J"
        let vault = Path("/srv/\(name)/end")
        _ = Complaint.take()
        let question = Question(.passcode.of(vault))
        #expect(question.text.text.hasPrefix("Passcode of /srv/ä\\x3cb>\\x26%") && question.text.text.hasSuffix("/end"))
        #expect(question.text.text.unicodeScalars.count <= Question.largest + 3)
        #expect(!question.line.text.unicodeScalars.contains { $0.isHidden })
        #expect(Question(.newPasscode.of("/v").again).line.text == "New passcode of /v, the same again: ")
    }

    /// It has its time, and not more.
    @Test(arguments: ["exec sleep 1000", "trap '' TERM; exec sleep 1000", "exec >&-; exec sleep 1000"])
    func aProgramThatGivesNoAnswerIsEnded(_ script: String) throws {
        var pipe: Pipe? = try Pipe()
        let (read, number) = (pipe!.readEnd, pipe!.writeEnd.number)
        _ = fcntl(number, F_SETFD, 0)
        #expect(throws: SecretReader.Failure.self) {
            _ = try AskingProcess.run("/bin/sh", ["-c", Path(script)], name: "sh", within: .milliseconds(50)) {
                (process) throws(SecretReader.Failure) in
                guard let answer = try process.answer() else { throw try .failed("\(process.exitCode())") }
                return answer
            }
        }
        // The descriptor's other copies are closed once the program has ended.
        pipe = nil
        #expect(try Poll.readable([read], timeout: .seconds(20)) == [0])
    }
}
