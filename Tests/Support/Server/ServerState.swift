internal import NIOCore
internal import Synchronization

/// The state that the connections of a server and its test share.
final class ServerState: Sendable {
    struct Content {
        var requests: [ReceivedRequest] = []
        /// The number of accepted connections.
        var accepted = 0
        /// The behaviour for the next requests to a path; overrides the script.
        var queues: [String: [Behaviour]] = [:]
        var script = Script()
        /// Answers the requests that ``queues`` do not; overrides the script.
        var handler: (any RequestHandler)?
        var files = StoredFiles()
        /// The number of requests that are not answered yet.
        var active = 0
        /// The open connections by number.
        var channels: [Int: any Channel] = [:]
        /// The rate at which each connection is read, in bytes a second; nil for no limit.
        var connectionRate: Double?
        /// Whether connections are never read.
        var isMute = false
        /// Whether SHA-256 of bodies is computed.
        var hashes = true

        /// Records a request and chooses its behaviour.
        /// - Parameter idle: the time since the last response on the connection; zero for the first request.
        mutating func begin(
            _ request: ReceivedRequest, _ head: RequestHead, idle: Duration
        ) -> (index: Int, choice: Script.Choice) {
            requests.append(request)
            active += 1
            if let queue = queues[head.path], let first = queue.first {
                if queue.count > 1 { queues[head.path]?.removeFirst() }
                return (requests.count - 1, Script.Choice(steps: first.steps, number: 0))
            }
            if handler != nil { return (requests.count - 1, Script.Choice(steps: [.read(), .handle], number: 0)) }
            return (requests.count - 1, script.choose(head.question(active: active, idle: idle)))
        }
    }

    private let content = Mutex(Content())

    func access<Value: Sendable>(_ body: (inout Content) -> Value) -> Value { content.withLock { body(&$0) } }
}
