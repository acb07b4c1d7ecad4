/// The delays before an upload queries its destination again.
package struct UploadTiming: Sendable, Equatable {
    /// Before a tus upload that seems to have vanished is queried a second time.
    package var vanishedRecheckDelay: Duration = .seconds(1)
    /// Between queries whether an upload that was answered 202 has been stored. Together they are a minute.
    package var acceptedRecheckDelays: [Duration] = [
        .milliseconds(250), .milliseconds(750), .seconds(2), .seconds(5), .seconds(10), .seconds(20), .seconds(22),
    ]
    /// Before a destination that contradicts its own success is queried again, because a replica may lag
    /// behind.
    package var contradictionRecheckDelays: [Duration] = [.seconds(1)]

    package init() {}
}
