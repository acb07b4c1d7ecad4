internal import Commands

/// The difference between the clock of an endpoint and this host's. S3 accepts 15 minutes.
package struct S3ClockOffset: Sendable, Equatable {
    /// Added to this host's clock at signing.
    private(set) var offset: Duration = .zero

    /// The offset at which an answer with this time came.
    /// - Parameters:
    ///   - serverTime: the field `Date`, in whole seconds.
    ///   - now: this host's clock when the answer came.
    static func measured(serverTime: Timestamp, now: Timestamp) -> S3ClockOffset {
        S3ClockOffset(offset: serverTime - now)
    }

    /// The time to sign with.
    func time(_ now: Timestamp) -> Timestamp { now + offset }

    /// The offset in words: `960 s behind the endpoint`.
    var text: String {
        let seconds = offset.milliseconds / 1000
        return seconds >= 0 ? "\(seconds) s behind the endpoint" : "\(seconds.magnitude) s ahead of the endpoint"
    }
}
