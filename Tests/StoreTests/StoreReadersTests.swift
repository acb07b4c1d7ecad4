import Host
import Store
import TestSupport
import Testing

@Suite struct StoreReadersTests {
    /// A store with two reader threads, which are held until ``release(_:)``.
    private struct Rig {
        let store = MemoryStore(shardCount: 1)
        let readers: StoreReaders
        let gate = MonotonicSemaphore(value: 0)
        let order = Shared<[String]>([])

        init() { readers = StoreReaders(store, maxThreads: 2) }

        /// A read that notes when it begins, and holds its thread.
        func hold(_ name: String, isUrgent: Bool = false) {
            readers.perform(isUrgent: isUrgent) { [order, gate] in
                order.change { $0.append(name) }
                gate.wait()
            }
        }

        func release(_ count: Int) { for _ in 0..<count { gate.signal() } }
    }

    @Test func `reads beyond the number of threads wait, and an urgent one passes those that wait`() async throws {
        let rig = Rig()
        for number in 1...4 { rig.hold("sweep \(number)") }
        try await until("two reads") { rig.order.value.count == 2 }
        rig.hold("look-up", isUrgent: true)
        #expect(Set(rig.order.value) == ["sweep 1", "sweep 2"])
        rig.release(1)
        try await until("the next read") { rig.order.value.count == 3 }
        #expect(rig.order.value.last == "look-up")
        rig.release(4)
        try await until("every read") { rig.order.value.count == 5 }
        #expect(Set(rig.order.value.suffix(2)) == ["sweep 3", "sweep 4"])
    }

    @Test func `a read gets the store, and its error reaches the caller`() async throws {
        let rig = Rig()
        #expect(try await rig.readers.read { store throws(StoreError) in store.shardCount } == 1)
        let error = await #expect(throws: StoreError.self) {
            try await rig.readers.read(isUrgent: true) { _ throws(StoreError) -> Int in
                throw StoreError(.invalid, "test")
            }
        }
        #expect(error?.code == .invalid)
    }
}
