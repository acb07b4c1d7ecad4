package import Commands

/// The properties of an emulated link. Rates count IP packets; of a packet of 1,500 bytes TCP carries
/// ``payloadShare``.
package struct EmulatedLink: Sendable, Equatable {
    /// The rate in each direction, in bits per second; nil for no limit.
    package var rate: Double?
    /// The delay in one direction.
    package var delay: Duration
    /// The probability that a packet is lost, from 0 to 1.
    package var loss: Double
    /// The size of the queue in each direction, in bytes; nil for the traffic of a round trip, at least
    /// 150,000 (0.6 s at 2 Mbit/s, as in a cheap modem).
    package var queue: Int?
    /// Each SYN to the servers whose number is a multiple of this is answered with RST; nil for none.
    package var resetEvery: Int?

    package init(
        rate: Double? = nil, delay: Duration = .zero, loss: Double = 0, queue: Int? = nil, resetEvery: Int? = nil
    ) {
        self.rate = rate
        self.delay = delay
        self.loss = loss
        self.queue = queue
        self.resetEvery = resetEvery
    }

    /// Makes a link from a rate in Mbit/s and a round-trip time.
    package static func megabits(_ rate: Double, roundTrip: Duration = .milliseconds(50), loss: Double = 0) -> Self {
        EmulatedLink(rate: rate * 1e6, delay: roundTrip / 2, loss: loss)
    }

    /// The share of payload in a full packet; the IP header has 20 bytes, and the TCP header with time stamps
    /// 32.
    package static let payloadShare = 1448.0 / 1500

    /// The maximum payload of TCP in bytes per second.
    package var payloadCeiling: Double { (rate ?? .infinity) / 8 * Self.payloadShare }

    package var json: JSONValue {
        let delay = Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18
        let product = (rate ?? 0) * 2 * delay / 8
        return [
            "rate": rate.map { .number($0) } ?? .null, "delay": .number(delay), "loss": .number(loss),
            "queue": .integer(Int64(queue ?? max(150_000, Int(product)))),
            "resetEvery": resetEvery.map { .integer(Int64($0)) } ?? .null,
        ]
    }
}
