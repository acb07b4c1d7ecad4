import Commands
import Glibc

/// What to build, as it was asked for; see ``EmulatorTool``.
struct Plan {
    enum ShaperChoice: String {
        case auto, tun, tbf

        enum Resolved { case tun, tbf }

        func resolved() throws -> Resolved {
            switch self {
            case .tun: return .tun
            case .tbf: return .tbf
            case .auto: return access("/dev/net/tun", R_OK | W_OK) == 0 ? .tun : .tbf
            }
        }
    }

    var shaper: ShaperChoice
    var congestion: String
    var seed: UInt64
    var uplink: LinkShape
    var destinations: [LinkShape?]

    init(_ json: JSONValue) throws {
        let name = json["shaper"]?.string ?? "auto"
        guard let shaper = ShaperChoice(rawValue: name) else { throw Refusal("there is no shaper “\(name)”") }
        self.shaper = shaper
        congestion = json["congestion"]?.string ?? "cubic"
        seed = UInt64(json["seed"]?.integer ?? 1)
        uplink = try LinkShape().changed(by: json["uplink"] ?? [:])
        destinations = try (json["destinations"]?.elements ?? [.null]).map {
            $0 == .null ? nil : try LinkShape().changed(by: $0)
        }
        guard (1...250).contains(destinations.count) else { throw Refusal("a bed has 1 to 250 destinations") }
    }
}

/// What a link does to packets in one direction.
struct LinkShape: Equatable {
    /// Bits per second of IP packets; nil: no limit.
    var rate: Double?
    /// One way, in nanoseconds.
    var delay: Int64 = 0
    /// Probability that a packet is lost.
    var loss = 0.0
    /// Bytes that wait for their turn at most; what comes after is dropped.
    var queue = 150_000
    /// Nothing arrives, and nobody is told.
    var isBlackout = false
    /// Every SYN with a multiple of this number is answered by RST where it would arrive; nil: none is.
    var resetEvery: Int?

    func changed(by json: JSONValue) throws -> LinkShape {
        var shape = self
        for member in json.members ?? [] {
            switch (member.name, member.value) {
            case ("rate", .null): shape.rate = nil
            case ("rate", let value):
                guard let rate = value.double, rate > 0 else { throw Refusal("a rate is above 0 bit/s, or null") }
                shape.rate = rate
            case ("delay", let value):
                guard let delay = value.double, (0...10).contains(delay) else { throw Refusal("a delay is 0 to 10 s") }
                shape.delay = Int64(delay * 1e9)
            case ("loss", let value):
                guard let loss = value.double, (0...1).contains(loss) else { throw Refusal("a loss is from 0 to 1") }
                shape.loss = loss
            case ("queue", let value):
                guard let queue = value.integer, queue >= 3000 else { throw Refusal("a queue has 3000 bytes or more") }
                shape.queue = Int(queue)
            case ("blackout", .bool(let value)): shape.isBlackout = value
            case ("resetEvery", .null): shape.resetEvery = nil
            case ("resetEvery", let value):
                guard let count = value.integer, count > 0 else { throw Refusal("resetEvery is above 0, or null") }
                shape.resetEvery = Int(count)
            case ("change", _), ("direction", _): break
            default: throw Refusal("a link has no “\(member.name)”, or not \(member.value.kind) for it")
            }
        }
        return shape
    }
}
