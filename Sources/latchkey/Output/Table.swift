import Posix

/// Rows of text in columns that are padded to the widest cell; the last column is not padded.
struct Table {
    private var rows: [[Printable]] = []

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ cells: Printable...) { rows.append(cells) }

    /// A row for each of `values`; only the first has the label.
    mutating func add(_ label: Printable, _ values: [Printable]) {
        for (index, value) in values.enumerated() { add(index == 0 ? label : "", value) }
    }

    /// The lines one by one, for a cell of another table.
    var rowLines: [Printable] { aligned(indent: 0) }

    /// The lines, with two spaces between columns and `indent` spaces before each.
    func lines(indent: Int = 0) -> Printable { aligned(indent: indent).joined(separator: "\n") }

    private func aligned(indent: Int) -> [Printable] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = Printable(verbatim: String(repeating: " ", count: indent))
            for (column, cell) in row.enumerated() {
                line += cell
                guard column < row.count - 1 else { continue }
                line += Printable(verbatim: String(repeating: " ", count: widths[column] - cell.count + 2))
            }
            return line
        }
    }
}
