internal import Commands
package import Host

/// The requests and bytes that a ``BedDestination`` has received.
package struct Received: Sendable {
    package struct Request: Sendable {
        package var method: String
        package var path: String
        package var clientPort: Int
        package var begin: MonotonicTime
        /// The time at which the response was sent or the connection ended; nil while the request runs.
        package var end: MonotonicTime?
        /// The status of the response; nil if the connection ended before it.
        package var status: Int?
        /// The received bytes of the body.
        package var received: Int64
        /// The received bytes in steps of 50 ms.
        package var steps: ByteSteps
    }

    package var at: MonotonicTime
    package var requests: [Request]
    /// The number of running requests.
    package var active: Int

    init(_ json: JSONValue) {
        func moment(_ value: JSONValue?) -> MonotonicTime? { value?.integer.map { MonotonicTime(nanoseconds: $0) } }
        at = moment(json["at"]) ?? .now
        active = Int(json["active"]?.integer ?? 0)
        let step = json["step"]?.integer ?? 1
        requests = (json["requests"]?.elements ?? []).map { request in
            Request(
                method: request["method"]?.string ?? "", path: request["path"]?.string ?? "",
                clientPort: Int(request["clientPort"]?.integer ?? 0),
                begin: moment(request["begin"]) ?? .zero, end: moment(request["end"]),
                status: request["status"]?.integer.map { Int($0) }, received: request["received"]?.integer ?? 0,
                steps: ByteSteps(step: step, request["steps"]))
        }
    }

    /// The received bytes of bodies to paths with a prefix.
    package func bytes(_ prefix: String = "/") -> Int64 {
        requests.reduce(0) { $1.path.hasPrefix(prefix) ? $0 + $1.received : $0 }
    }

    /// The received bytes of bodies to paths with a prefix between two times, in whole steps.
    package func bytes(_ prefix: String = "/", from start: MonotonicTime, to end: MonotonicTime) -> Int64 {
        requests.reduce(0) { $1.path.hasPrefix(prefix) ? $0 + $1.steps.bytes(from: start, to: end) : $0 }
    }
}
