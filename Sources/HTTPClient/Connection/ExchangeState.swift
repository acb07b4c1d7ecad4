internal import NIOCore

/// How far one exchange on a connection has come, from its request to the end of its response. Pure.
struct ExchangeState {
    /// The connection had carried another exchange before this one.
    var isKept = false
    /// The body has been handed to the channel to its end.
    var requestEnded = false
    /// The kernel has taken the whole request.
    var isHandedOver = false
    /// The body waits for `100 Continue`.
    var awaitsContinue = false
    var responseBegan = false
    var responseEnded = false
    /// The status of the final response; nil before its head is complete.
    var finalStatus: Int?
    var finalHeadAt = NIODeadline.now()
    /// The peer keeps the connection open after its response.
    var peerKeepsAlive = false
    var isReadingPaused = false
    /// When the peer had acknowledged the whole request.
    var receivedAt: NIODeadline?
    /// When an unfinished response head was first seen.
    var headSeenAt: NIODeadline?
}
