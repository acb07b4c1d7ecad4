import Commands
import HTTPTypes
import TestSupport
import Testing

@testable import Door
@testable import DoorAPI

struct SearchSlotsTests {
    @Test func `a search beyond the maximum is refused, and one after another's end is not`() async throws {
        let slots = SearchSlots()
        let started = Shared(0)
        let isOpen = Shared(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<SearchSlots.max {
                group.addTask {
                    try await slots.run {
                        started.change { $0 += 1 }
                        try await until("the end of the test") { isOpen.value }
                    }
                }
            }
            try await until("the searches") { started.value == SearchSlots.max }
            let refusal = await #expect(throws: Problem.self) { try await slots.run {} }
            #expect(refusal?.type == "too-many-searches" && refusal?.status.code == 503)
            isOpen.change { $0 = true }
            try await group.waitForAll()
        }
        try await slots.run {}
    }

    @Test func `only filters that no index serves are searches`() {
        #expect(!CommandFilter().needsSlot && !CommandFilter(status: .error).needsSlot)
        #expect(CommandFilter(qos: .background).needsSlot)
        var filter = CommandFilter()
        filter.reason = "timed out"
        #expect(filter.needsSlot)
    }
}
