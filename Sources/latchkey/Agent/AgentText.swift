import Agent
import LockSources
import Posix

/// What an agent has heard and done, for people.
struct AgentText {
    private let report: AgentReport

    /// What the agent of this user has heard and done, or that there is none.
    static var ofThisUser: Printable {
        guard let report = AgentFiles().read() else {
            return """
                agent: none runs, so no screen lock and no sleep locks a mount
                  try: systemctl --user enable --now latchkey-agent
                """
        }
        return AgentText(report).text
    }

    init(_ report: AgentReport) { self.report = report }

    var text: Printable {
        var table = Table()
        table.add("lock source", "last heard", "then")
        for source in report.sources {
            let heard = source.lastFired.flatMap { Clock.moment($0) } ?? "never"
            table.add("\(source.name.rawValue)", "\(heard)", Printable(line: Self.result(source)))
        }
        return "agent: process \(report.pid), since \(Clock.date(report.started))\n\(table.lines(indent: 2))"
    }

    private static func result(_ source: AgentReport.Source) -> String {
        guard source.isOn else { return "switched off" }
        return [source.problem, source.lastResult].compactMap(\.self).joined(separator: "; last: ")
    }
}
