import Testing

@testable import Coordination

@Suite struct RunningSweepsTests {
    @Test func `a sweep that is requested while one runs follows it, once`() {
        var sweeps = RunningSweeps()
        #expect(value(sweeps.start(1)))
        #expect(!value(sweeps.start(1)))
        #expect(!value(sweeps.start(1)))
        #expect(value(sweeps.start(2)), "another shard")
        #expect(value(sweeps.finish(1)))
        #expect(!value(sweeps.finish(2)))
        #expect(value(sweeps.start(1)))
        #expect(!value(sweeps.finish(1)))
    }
}
