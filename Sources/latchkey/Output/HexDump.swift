import Format
import Posix

/// Bytes as `hexdump -C` shows them: offset, sixteen bytes in two groups, the printable ones as text.
enum HexDump {
    /// One line for every sixteen of `bytes`, offsets counted from `offset`; equal lines are shown as one `*`.
    static func lines(_ bytes: [UInt8], from offset: Int = 0) -> Printable {
        var lines: [String] = []
        var previous: ArraySlice<UInt8>?
        var elided = false
        for start in stride(from: 0, to: bytes.count, by: 16) {
            let row = bytes[start..<min(start + 16, bytes.count)]
            let isLast = start + 16 >= bytes.count
            if let previous, !isLast, row.elementsEqual(previous) {
                if !elided { lines.append("*") }
                elided = true
                continue
            }
            elided = false
            previous = row
            lines.append(line(row, at: offset + start))
        }
        return Printable(verbatim: lines.joined(separator: "\n"))
    }

    private static func line(_ row: ArraySlice<UInt8>, at offset: Int) -> String {
        var cells = row.map { String(hexadecimal: [$0]) }
        while cells.count < 16 { cells.append("  ") }
        let left = cells[..<8].joined(separator: " ")
        let right = cells[8...].joined(separator: " ")
        let text = row.map { 0x20..<0x7f ~= $0 ? String(Unicode.Scalar($0)) : "." }.joined()
        return "\(String(hexadecimal: UInt(offset), digits: 8))  \(left)  \(right)  |\(text)|"
    }
}
