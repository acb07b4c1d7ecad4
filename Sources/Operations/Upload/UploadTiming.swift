/// Pauses between the questions that an upload asks its destination.
package struct UploadTiming: Sendable, Equatable {
    /// Before a tus upload that seems to have vanished is asked a second time.
    package var secondQuestion: Duration = .seconds(1)
    /// Between questions whether an upload that was answered 202 has been stored: a minute together.
    package var acceptedWaits: [Duration] = [
        .milliseconds(250), .milliseconds(750), .seconds(2), .seconds(5), .seconds(10), .seconds(20), .seconds(22),
    ]
    /// Before a destination that contradicts its own success is asked again: a replica may not have heard of it yet.
    package var contradictedWaits: [Duration] = [.seconds(1)]

    package init() {}
}
