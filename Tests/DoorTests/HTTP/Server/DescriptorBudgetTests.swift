import Door
import Testing

struct DescriptorBudgetTests {
    @Test func `connections and their files leave 256 descriptors to the rest of the process`() throws {
        #expect(try DescriptorBudget.maxConnections(limit: 1024, cores: 2, configured: nil) == 384)
        #expect(try DescriptorBudget.maxConnections(limit: 1024, cores: 2, configured: 100) == 100)
        #expect(try DescriptorBudget.maxConnections(limit: 1024, cores: 2, configured: 5000) == 384)
        #expect(try DescriptorBudget.maxConnections(limit: 1024, cores: 64, configured: nil) == 288)
    }

    @Test func `a limit that leaves no connections is an error that says the remedy`() {
        let error = #expect(throws: DoorServerError.self) {
            try DescriptorBudget.maxConnections(limit: 287, cores: 2, configured: nil)
        }
        #expect(error?.description.contains("ulimit -n") == true)
    }
}
