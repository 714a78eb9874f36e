import Glibc
import LeaseSimulation

// lease-simulation FIRST COUNT: runs schedules, and prints the first one in which something is wrong. If COUNT is 1, it
// prints what happens.

let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard numbers.count == 2 else {
    print("lease-simulation FIRST COUNT")
    exit(2)
}
var counts = World.Counts()
for seed in numbers[0]..<numbers[0] + numbers[1] {
    let world = World(seed: seed, isTold: numbers[1] == 1)
    if let wrong = world.run() {
        print("schedule \(seed): \(wrong)")
        exit(1)
    }
    counts += world.counts
}
print("\(numbers[1]) schedules, nothing wrong: \(counts)")
