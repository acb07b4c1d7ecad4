import Testing

@testable import Work

@Suite struct TransferMeterTests {
    @Test func `the time to the first byte stays until the next request has one`() {
        let meter = TransferMeter()
        var connection = TransferMeter.Connection()
        connection.firstByte = .seconds(1)
        meter.observed(connection)
        connection.firstByte = nil
        connection.roundTrip = .milliseconds(5)
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == .seconds(1))
        #expect(meter.reading.connection.roundTrip == .milliseconds(5))
        connection.firstByte = .milliseconds(20)
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == .milliseconds(20))
    }
}
