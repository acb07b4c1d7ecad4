internal import NIOCore
internal import Synchronization

/// What the connections of a server and its test share.
final class ServerState: Sendable {
    struct Content {
        var requests: [ReceivedRequest] = []
        /// Connections that were accepted.
        var accepted = 0
        /// What is done with the next requests to a path; goes before the script.
        var queues: [String: [Behaviour]] = [:]
        var script = Script()
        var files = StoredFiles()
        /// Requests that have begun and are not answered.
        var active = 0
        /// Open connections by their number.
        var channels: [Int: any Channel] = [:]
        /// Bytes a second that each connection is read at; nil: as they come.
        var connectionRate: Double?
        /// Nothing is read of any connection.
        var isMute = false
        /// Whether SHA-256 of what comes is computed.
        var hashes = true

        /// Enters a request into the ledger and chooses what is done with it.
        /// - Parameter idle: since the last response on its connection; zero for the first.
        mutating func begin(
            _ request: ReceivedRequest, _ head: RequestHead, idle: Duration
        ) -> (index: Int, choice: Script.Choice) {
            requests.append(request)
            active += 1
            if let queue = queues[head.path], let first = queue.first {
                if queue.count > 1 { queues[head.path]?.removeFirst() }
                return (requests.count - 1, Script.Choice(steps: first.steps, number: 0))
            }
            return (requests.count - 1, script.choose(head.question(active: active, idle: idle)))
        }
    }

    private let content = Mutex(Content())

    func access<Value: Sendable>(_ body: (inout Content) -> Value) -> Value { content.withLock { body(&$0) } }
}
