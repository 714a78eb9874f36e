import Format
import Glibc
public import Posix

extension Observation {
    /// The contents of a file of the root; nil if the file is missing or does not read.
    public func contents(of name: Name) -> [UInt8]? {
        guard case .file(let file) = folders[root]?.entries[name] else { return nil }
        return file.bytes
    }

    /// Writes the plain tree into an empty folder, for the programs whose files it holds. Files that do not read,
    /// special files and metadata are left out.
    public func export(to folder: Descriptor) throws(Errno) {
        try export(root, to: folder)
    }

    private func export(_ directory: DirectoryIdentifier, to folder: Descriptor) throws(Errno) {
        for (name, entry) in folders[directory]?.entries ?? [:] {
            switch entry {
            case .file(let file):
                guard let bytes = file.bytes else { continue }
                let made = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o700)
                try unsafe made.write(bytes.span.bytes, at: 0)
            case .directory(let child):
                try folder.makeDirectory(name, mode: 0o700)
                try export(child, to: try folder.open(name, O_RDONLY | O_DIRECTORY))
            case .symbolicLink(let target): try folder.makeSymbolicLink(to: target, name)
            case .other, .damaged: continue
            }
        }
    }
}
