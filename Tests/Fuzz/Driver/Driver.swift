import FuzzTargets
import Glibc

// libFuzzer has main, and calls these functions. LATCHKEY_FUZZ_TARGET names the parser.

private nonisolated(unsafe) var parser: (any FuzzedParser)!

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: OpaquePointer?, _ arguments: OpaquePointer?) -> Int32 {
    let name = unsafe getenv("LATCHKEY_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else { fatalError("LATCHKEY_FUZZ_TARGET: no parser '\(name)'") }
    do {
        unsafe parser = try target.makeParser()
    } catch {
        fatalError("cannot prepare \(name): \(error)")
    }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    do throws(Finding) {
        try unsafe parser.run(input)
    } catch {
        fatalError(error.description)
    }
    return 0
}
