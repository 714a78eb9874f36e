/// The examples at the end of a command's help.
enum Examples {
    /// One to three commands that work as they stand, each of at most 78 columns: no line is wrapped.
    static func of(_ commands: String...) -> String {
        "\n\nExamples:\n" + commands.map { "  \($0)" }.joined(separator: "\n")
    }
}
