import Administration
import Control
import Glibc
import Posix

extension LockedPrograms {
    /// A line for each program that loses files when a mount locks; none if they cannot be found out.
    ///
    /// - Parameter namesFiles: adds the names of files that it has open there.
    static func words(at point: Path, namesFiles: Bool) -> [Printable] {
        guard let entry = try? MountTable().mount(at: point), case .mount(let mount) = PathArgument.served(entry),
            let holders = try? Holders(of: mount)
        else { return [] }
        let programs = LockedPrograms(holders, whenLocked: mount.status.whenLocked ?? .fail)
        guard namesFiles else { return programs.lines }
        return programs.lines
            + holders.holders.flatMap { holder in
                names(of: holder.pid, below: point).map { "\(holder.name): \($0)" as Printable }
            }
    }

    /// Of at most so many files of one program.
    private static let mostNames = 3

    /// The names of open files below a folder. Source: proc_pid_fd(5).
    private static func names(of process: Int, below folder: Path) -> [Printable] {
        guard let descriptors = try? Descriptor.open(path: "/proc/\(process)/fd", O_RDONLY | O_DIRECTORY) else {
            return []
        }
        let numbers = (try? descriptors.entries()) ?? []
        let targets = numbers.compactMap { number in
            (try? descriptors.readSymbolicLink(number.name)).map { Path(bytes: $0) }
        }
        let below = Set(targets.filter { $0.isInside(folder) && $0.bytes != folder.bytes })
        return below.sorted().prefix(mostNames).compactMap { $0.lastName.map { "\($0)" } }
    }
}
