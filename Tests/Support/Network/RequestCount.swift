internal import Commands
package import Host

/// The number of requests that a ``BedDestination`` has received.
package struct RequestCount: Sendable {
    package var begun: Int
    /// Answered with 2xx.
    package var succeeded: Int
    /// Answered with another status.
    package var refused: Int
    /// The start of the first request; nil without requests.
    package var firstBegin: MonotonicTime?
    package var lastBegin: MonotonicTime?
    /// The time at which the last response was sent.
    package var lastEnd: MonotonicTime?

    init(_ json: JSONValue) {
        func moment(_ name: String) -> MonotonicTime? {
            json[name]?.integer.map { MonotonicTime(nanoseconds: $0) }
        }
        begun = Int(json["begun"]?.integer ?? 0)
        succeeded = Int(json["succeeded"]?.integer ?? 0)
        refused = Int(json["refused"]?.integer ?? 0)
        firstBegin = moment("firstBegin")
        lastBegin = moment("lastBegin")
        lastEnd = moment("lastEnd")
    }
}
