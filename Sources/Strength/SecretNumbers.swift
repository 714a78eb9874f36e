import Crypto
import Glibc

/// Numbers derived from a passcode, in their own pages: excluded from core files and, as far as the limit of locked
/// memory allows, from swap; wiped and freed at the end of its lifetime.
///
/// Not in the locked heap, where the largest of them might not fit beside the keys of a busy daemon.
@safe
struct SecretNumbers: ~Copyable {
    private let numbers: UnsafeMutablePointer<Double>
    let count: Int

    init(count: Int, repeating number: Double) throws(CryptoError) {
        let byteCount = max(count, 1) * MemoryLayout<Double>.stride
        let pages = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages = unsafe pages, unsafe pages != MAP_FAILED else {
            throw .secureMemory("there is no memory to look at a passcode in")
        }
        _ = unsafe mlock(pages, byteCount)
        _ = unsafe madvise(pages, byteCount, MADV_DONTDUMP)
        unsafe numbers = pages.bindMemory(to: Double.self, capacity: count)
        unsafe numbers.initialize(repeating: number, count: count)
        self.count = count
    }

    deinit {
        let byteCount = max(count, 1) * MemoryLayout<Double>.stride
        unsafe explicit_bzero(numbers, byteCount)
        _ = unsafe munmap(numbers, byteCount)
    }

    subscript(index: Int) -> Double {
        get {
            precondition(index >= 0 && index < count)
            return unsafe numbers[index]
        }
        nonmutating set {
            precondition(index >= 0 && index < count)
            unsafe numbers[index] = newValue
        }
    }
}
