import Commands

/// The faults of this destination. A request may change each member by its name at any time.
struct Behaviour {
    /// The rate at which each connection is read, in bits per second; nil for no limit.
    var connectionRate: Double?
    /// Seconds between the last byte of a request and the first of its response.
    var firstByteDelay = 0.0
    /// The number of concurrent requests above which the answer is 503; nil for no limit.
    var maxRequests: Int?
    /// Whether the port refuses connections; open ones are reset.
    var isRefusing = false
    /// Whether connections are accepted and never read.
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
            default: throw Refusal("a destination has no property “\(member.name)” of the kind \(member.value.kind)")
            }
        }
        guard (0...86_400).contains(behaviour.firstByteDelay) else {
            throw Refusal("firstByteDelay must be 0 to 86400 seconds, not \(behaviour.firstByteDelay)")
        }
        return behaviour
    }

    /// The rules of the script for these faults.
    var script: String {
        let limit = maxRequests.map {
            "* * active > \(max($0, 0)) : answer 503 header \"Retry-After: 1\" header \"Connection: close\"; "
                + "discard 1s; close\n"
        }
        return (limit ?? "") + "* * : store after \(Int(firstByteDelay * 1_000_000))us\n"
    }
}
