import ArgumentParser

/// `latchkey conflicts`: versions that a synchronisation program has put aside.
struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show and settle versions of files that a synchronisation program has put aside.",
        discussion: """
            If two machines change a file before a program such as Syncthing has brought the change of one to the \
            other, the program keeps both. One has the name, and the other one is shown in the same folder, such as \
            "report (conflict of 2026-11-24 on laptop-2).odt". It is a file like any other: look at both, and then take \
            the version that you want, or drop the one that you do not.
            """,
        subcommands: [ListConflicts.self, TakeConflict.self, DropConflict.self])
}
