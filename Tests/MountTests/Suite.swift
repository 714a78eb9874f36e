import Testing

/// Tests from the outside: the real program, real mounts, real programs in them.
///
/// One after another: they measure seconds, and a small machine has two cores for the daemon, the kernel and the test.
@Suite(.serialized) struct MountTests {}
