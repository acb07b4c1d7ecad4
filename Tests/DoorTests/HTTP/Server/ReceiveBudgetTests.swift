import Testing

@testable import Door

struct ReceiveBudgetTests {
    @Test func `buffers become smaller with the number of bodies`() {
        #expect(ReceiveBudget.bodySize(active: 0, idle: 0) == 256 << 10)
        #expect(ReceiveBudget.bodySize(active: 100, idle: 0) == ReceiveBudget.total / 4 / 100)
        #expect(ReceiveBudget.bodySize(active: 1, idle: 200) == ReceiveBudget.total / 4 / 101)
        #expect(ReceiveBudget.bodySize(active: 100_000, idle: 0) == 8 << 10)
    }

    @Test func `a connection counts once while its body arrives, and half when it is idle`() {
        let budget = ReceiveBudget()
        var connections: [ReceiveBuffers] = (0..<150).map { _ in ReceiveBuffers(budget) }
        for connection in connections {
            connection.setReadingBody(false)
            #expect(connection.nextBufferSize() == 4 << 10)
            connection.setReadingBody(true)
            connection.setReadingBody(true)
        }
        #expect(budget.bodySize == ReceiveBudget.bodySize(active: 150, idle: 0))
        for connection in connections.prefix(50) { connection.setReadingBody(false) }
        #expect(connections[0].nextBufferSize() == 4 << 10)
        #expect(connections[149].nextBufferSize() == ReceiveBudget.bodySize(active: 100, idle: 50))
        connections = []
        #expect(budget.bodySize == 256 << 10)
    }
}
