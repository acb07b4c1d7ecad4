package import Commands

/// How fast a worker may send. What has no entry is not held back.
package struct Pacing: Sendable, Equatable {
    package var key: LinkKey
    package var qos: QualityOfService
    /// Bytes per second for each transfer; a worker gives those that it has so much together. 0: stop writing.
    package var bytesPerSecond: Int64
}
