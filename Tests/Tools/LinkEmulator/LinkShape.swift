import Commands

/// The properties of a link in one direction.
struct LinkShape: Equatable {
    /// The rate of IP packets in bits per second; nil for no limit.
    var rate: Double?
    /// The delay in one direction, in nanoseconds.
    var delay: Int64 = 0
    /// The probability that a packet is lost.
    var loss = 0.0
    /// The size of the queue in bytes. Packets beyond it are dropped.
    var queue = 150_000
    /// Whether every packet is lost silently.
    var isBlackout = false
    /// Each SYN whose number is a multiple of this is answered with RST on arrival; nil for none.
    var resetEvery: Int?

    func changed(by json: JSONValue) throws -> LinkShape {
        var shape = self
        for member in json.members ?? [] {
            switch (member.name, member.value) {
            case ("rate", .null): shape.rate = nil
            case ("rate", let value):
                guard let rate = value.double, rate > 0 else { throw Refusal("a rate must be above 0 bit/s, or null") }
                shape.rate = rate
            case ("delay", let value):
                guard let delay = value.double, (0...10).contains(delay) else {
                    throw Refusal("a delay must be 0 to 10 s")
                }
                shape.delay = Int64(delay * 1e9)
            case ("loss", let value):
                guard let loss = value.double, (0...1).contains(loss) else { throw Refusal("a loss must be 0 to 1") }
                shape.loss = loss
            case ("queue", let value):
                guard let queue = value.integer, queue >= 3000 else {
                    throw Refusal("a queue must have at least 3000 bytes")
                }
                shape.queue = Int(queue)
            case ("blackout", .bool(let value)): shape.isBlackout = value
            case ("resetEvery", .null): shape.resetEvery = nil
            case ("resetEvery", let value):
                guard let count = value.integer, count > 0 else { throw Refusal("resetEvery must be above 0, or null") }
                shape.resetEvery = Int(count)
            case ("change", _), ("direction", _): break
            default: throw Refusal("a link has no property “\(member.name)” of the kind \(member.value.kind)")
            }
        }
        return shape
    }
}
