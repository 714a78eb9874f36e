import Foundation

/// The lines of this process's mount table for a path and for what is below it.
public func mountLines(of path: String) -> [String] {
    let table = String(
        decoding: (try? Data(contentsOf: URL(filePath: "/proc/self/mountinfo"))) ?? Data(), as: UTF8.self)
    let path = escapedAsMounted(path)
    return table.split(separator: "\n").map(String.init).filter {
        let fields = $0.split(separator: " ")
        return fields.count > 4 && (fields[4] == path || fields[4].hasPrefix(path + "/"))
    }
}

/// As the kernel writes a mount point: space, tab, newline and backslash in octal.
public func escapedAsMounted(_ path: String) -> String {
    path.map { [" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134"][$0] ?? String($0) }.joined()
}

/// The mount point of a line of the mount table.
public func mountPoint(_ line: String) -> String {
    var path = line.split(separator: " ")[4].description
    for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        path = path.replacingOccurrences(of: code, with: character)
    }
    return path
}
