internal import Commands

/// The facts about a refused request and its command that a verdict needs.
package struct S3Attempt: Sendable, Equatable {
    enum Authority: Sendable, Equatable {
        /// The credential of the endpoint.
        case credential
        /// A presigned URL.
        /// - Parameter expiry: as the URL says.
        case presigned(expiry: Timestamp?)
    }

    var step: S3Step
    var authority = Authority.credential
    /// The request was signed with a corrected clock because of a RequestTimeTooSkewed before it.
    package var hasCorrectedClock = false
    /// The previous answer to the command was AccessDenied (``S3Checkpoint/wasDenied``).
    var wasDenied = false
    /// The same bytes were refused before because of their digest (``S3Checkpoint/damagedPart``).
    var wasDamaged = false
    /// Uploads lost so far (``S3Checkpoint/restarts``).
    var restarts = 0
    /// The command never replaces an object.
    var ifAbsent = false

    package init(_ step: S3Step) { self.step = step }
}
