import TestSupport
import Testing

/// The binding, driven by a pass-through over a plain folder and a real mount.
///
/// One after another: a small machine has few cores for the test, the kernel and the pass-through.
@Suite(.serialized, .enabled(if: FuseDevice.missing == nil, "\(FuseDevice.missing ?? "")")) struct FuseTests {}
