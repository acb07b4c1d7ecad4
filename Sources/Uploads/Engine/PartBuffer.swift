/// Bytes of one request that go to the disk together. It is used again and again: an allocation of this size costs a
/// mapping and a page fault for each page. One task at a time uses it.
final class PartBuffer: @unchecked Sendable {
    // Unchecked: `FileReceiver` hands it to the write, and touches it again after the end of the write.
    private var storage: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) { storage = .allocate(byteCount: capacity, alignment: 16) }

    deinit { storage.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

    func append(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > storage.count - count { move(to: count + bytes.count) }
        UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    /// Forgets the bytes.
    /// - Parameter capacity: a much larger buffer than this is exchanged for a smaller one.
    func removeAll(capacity: Int) {
        count = 0
        if storage.count > 2 * capacity { move(to: capacity) }
    }

    private func move(to capacity: Int) {
        let next = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        next.copyMemory(from: bytes)
        storage.deallocate()
        storage = next
    }
}
