package import Commands

/// How fast a worker may send transfers of one quality over a link. A quality without an entry is not paced.
package struct Pacing: Sendable, Equatable {
    package var key: LinkKey
    package var qos: QualityOfService
    /// Bytes per second for each transfer. A worker paces its transfers together, at the sum. 0: stop
    /// writing.
    package var bytesPerSecond: Int64
}
