import Commands

/// What is wrong with this destination. Every member may be changed at any time, by its name.
struct Behaviour {
    /// Bits per second that each connection is read at; nil: as they come.
    var connectionRate: Double?
    /// Seconds between the last byte of a request and the first of its response.
    var firstByteDelay = 0.0
    /// More requests at once are answered with 503; nil: no limit.
    var maxRequests: Int?
    /// The port refuses connections, and those that were open are reset.
    var isRefusing = false
    /// Connections open and nothing is ever read.
    var isMute = false
    /// Whether SHA-256 is computed.
    var hashes = false

    func changed(by json: JSONValue) throws -> Behaviour {
        var behaviour = self
        for member in json.members ?? [] {
            switch (member.name, member.value) {
            case ("connectionRate", let value): behaviour.connectionRate = value.double
            case ("firstByteDelay", let value): behaviour.firstByteDelay = value.double ?? 0
            case ("mostRequests", let value): behaviour.maxRequests = value.integer.map { Int($0) }
            case ("isRefusing", .bool(let value)): behaviour.isRefusing = value
            case ("isMute", .bool(let value)): behaviour.isMute = value
            case ("hashes", .bool(let value)): behaviour.hashes = value
            default: throw Refusal("a destination has no “\(member.name)”, or not \(member.value.kind) for it")
            }
        }
        guard (0...86_400).contains(behaviour.firstByteDelay) else {
            throw Refusal("firstByteDelay takes 0 to 86400 seconds, not \(behaviour.firstByteDelay)")
        }
        return behaviour
    }

    /// The rules that do what the members say.
    var script: String {
        let limit = maxRequests.map {
            "* * active > \(max($0, 0)) : answer 503 header \"Retry-After: 1\" header \"Connection: close\"; "
                + "discard 1s; close\n"
        }
        return (limit ?? "") + "* * : store after \(Int(firstByteDelay * 1_000_000))us\n"
    }
}
