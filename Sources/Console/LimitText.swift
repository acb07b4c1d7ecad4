package import Commands

/// A rate limit, for people and for programs.
package enum LimitText {
    package static func members(_ name: String, _ limit: RateLimit) -> [JSONValue.Member] {
        [
            .init("name", .string(name)), .init("starts", .string(limit.starts.description)),
            .init("burst", .integer(Int64(limit.burst ?? limit.starts.defaultBurst))),
            .init("atOnce", limit.atOnce.map { .integer(Int64($0)) } ?? .null),
        ]
    }

    package static func sentence(_ limit: RateLimit) -> String {
        let burst = limit.burst ?? limit.starts.defaultBurst
        let atOnce = limit.atOnce.map { "; \($0) \($0 == 1 ? "runs" : "run") at the same time" } ?? ""
        return "starts \(limit.starts), at most \(burst) in one moment\(atOnce)"
    }
}
