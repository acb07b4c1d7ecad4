import Testing

@testable import Door

struct ConnectionLimitTests {
    private let limit = ConnectionLimit(max: 16, statistics: DoorStatistics()) { _ in false }

    @Test func `an address has half of the connections, and leaves the others theirs`() {
        for _ in 0..<8 { #expect(limit.decide("192.0.2.1") == .admitted) }
        #expect(limit.decide("192.0.2.1") == .refused(.address))
        #expect(limit.decide("192.0.2.2") == .admitted)
        limit.close("192.0.2.1")
        #expect(limit.decide("192.0.2.1") == .admitted)
        #expect(limit.decide("192.0.2.1") == .refused(.address))
    }

    @Test func `an address of many clients has all of them`() {
        for number in 0..<16 { #expect(limit.decide(nil) == (number < 14 ? .admitted : .reserve)) }
        #expect(limit.decide(nil) == .refused(.all))
        #expect(limit.decide("192.0.2.1") == .refused(.all))
    }

    @Test func `addresses that are gone are forgotten`() {
        for number in 0..<1000 {
            #expect(limit.decide("192.0.2.\(number)") == .admitted)
            limit.close("192.0.2.\(number)")
        }
        #expect(limit.addressCount == 0)
    }
}
