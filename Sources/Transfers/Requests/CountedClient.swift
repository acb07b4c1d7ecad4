internal import HTTPClient
internal import NIOCore
internal import Synchronization

/// A client, with the number of its transfers on a connection.
final class CountedClient: Sendable {
    let client: HTTPClient
    private let box = Mutex<NIOLoopBoundBox<Int>?>(nil)

    init(_ configuration: HTTPClientConfiguration) { client = HTTPClient(configuration: configuration) }

    /// To be used on the event loop of the client only, which it starts.
    var active: NIOLoopBoundBox<Int> {
        box.withLock { box in
            let active = box ?? NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: client.loop)
            box = active
            return active
        }
    }
}
